import { pathName } from '../cas/path-name.ts';
import type { Identity } from '../git/repository.ts';
import { isPerson, type AgentRecord } from '../schema/built-in/agent.ts';
import type { ThreadCommit, ThreadEvent } from './thread-commit.ts';

/**
 * The author of a commit: of a turn the role, with the agent as its address. All others are commits of a person, who is the
 * committer; the turn that a person takes is that of who has answered, on whatever machine it is taken.
 *
 * @param role the role of a turn; `undefined` for a commit of another kind
 * @param before the commit before a turn
 */
export function authorOf(
  role: string | undefined,
  agent: AgentRecord | undefined,
  committer: Identity,
  before: Pick<ThreadCommit, 'kind' | 'commit'> | undefined,
): Identity {
  if (role === undefined) return committer;
  if (agent !== undefined && !isPerson(agent)) return { name: role, email: `${pathName(agent.name)}@uwf` };
  return before?.kind === 'resume' ? before.commit.author : committer;
}

/**
 * The person who has decided what a commit says, as `name <email>`: who started or resumed the thread, cancelled it, or took the
 * turn. `undefined` for the turn of an agent, for a suspension, and for an end that rules gave. It is the author that its writer gave.
 */
export function personOf({
  commit: { author },
  ...event
}: ThreadEvent & Pick<ThreadCommit, 'commit'>): string | undefined {
  const person = `${author.name} <${author.email}>`;
  switch (event.kind) {
    case 'start':
      return event.node.parentThread === null ? person : undefined;
    case 'step':
      return author.name === event.node.role && author.email.endsWith('@uwf') ? undefined : person;
    case 'suspend':
      return undefined;
    case 'resume':
      return event.node.by ?? person;
    case 'end':
      return event.node.outcome === 'cancelled' ? person : undefined;
  }
}

/** The role of a turn's commit. */
export function roleOf(event: ThreadEvent): string | undefined {
  return 'role' in event.node ? event.node.role : undefined;
}
