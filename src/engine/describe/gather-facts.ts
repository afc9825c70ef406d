import { readNodeAt } from '../../cas/commit-nodes.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readAnyTree } from '../../git/stores/read.ts';
import { payloadOf } from '../../schema/built-in.ts';
import { nextOfMessage } from '../../thread/commit-message.ts';
import { fileOf, findStart, type LightStart } from '../../thread/thread-chain.ts';
import { findNodeAt, readTextAt, type ThreadCommit } from '../../thread/thread-commit.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { callerCommit, type CommitOf, readState, statusOfHead, type ThreadState } from '../../thread/thread-state.ts';
import { END } from '../../workflow/definition.ts';
import type { Reading } from '../engine-context.ts';
import type { ThreadOver } from '../events.ts';

/** The id that the caller of a thread was born with: that of the start on the chain that the child's start stands on. */
export async function parentAtBirth(engine: Reading, called: CommitOf<'start'>): Promise<ThreadId | null> {
  const caller = callerCommit(called);
  if (caller === undefined) return null;
  const start = await findStart(engine.repository, caller);
  return start ? parseThreadId(start.node.id) : null;
}

/** How a thread stands that is over or suspended; `undefined` for one that can go on. */
export async function describeOver(
  engine: Reading,
  state: Pick<ThreadState, 'id' | 'head'>,
): Promise<ThreadOver | undefined> {
  const { head } = state;
  const common = { thread: state.id, head: head.id, status: statusOfHead(head) };
  if (head.kind === 'suspend') {
    const { reason, role, cause } = head.node;
    const suspension = head.hash;
    return { event: 'thread.suspended', ...common, returnCode: null, text: reason, role, cause, suspension };
  }
  if (head.kind !== 'end') return undefined;
  const text = await readTextAt(engine.repository, head, 'summary.md');
  const { outcome, returnCode } = head.node;
  return { event: outcome === 'completed' ? 'thread.ended' : `thread.${outcome}`, ...common, returnCode, text };
}

type Head = { id: ObjectId; kind: ThreadCommit['kind']; commit: { message: string } };

/**
 * Finds who is next in a thread: its head tells it after a step, else the rules are asked. It is only shown: a turn decides anew.
 * @param known the state of the thread, where it was read
 * @returns null where nobody is, or who waits has the turn
 */
export async function findNextRole(
  engine: Reading,
  { id, head }: { id: ThreadId; head: Head },
  known?: ThreadState,
): Promise<string | null> {
  if (head.kind === 'end' || head.kind === 'suspend') return null;
  const told = head.kind === 'step' ? nextOfMessage(head.commit.message) : undefined;
  if (told !== undefined) return told === END ? null : told;
  // Deciding loads much more than reading does.
  const [{ decide }, { decisionContext }, { definitionOf }] = await Promise.all([
    import('../../moderator/decide.ts'),
    import('../turn/decide.ts'),
    import('../children/sub-workflow.ts'),
  ]);
  const state = known ?? (await readState(engine.repository, id, head.id));
  const { name, moderator } = await definitionOf(engine, state);
  const decision = await decide(moderator, decisionContext(engine.repository, state, name));
  return decision.kind === 'role' ? decision.role : null;
}

/** Names by the trees of definitions: many threads of a list have the same one. */
const names = new WeakMap<Repository, Map<ObjectId, string>>();

/** The name of the workflow that a thread runs, by its start. The rest of the definition is not read. */
export async function workflowNameOf(repository: Repository, start: LightStart | CommitOf<'start'>): Promise<string> {
  const path = 'workflow/workflow.json';
  if ('index' in start) {
    const node = await findNodeAt(repository, start, path);
    if (node === undefined) throw new CorruptThread(start.id, `${path} is not there`);
    return payloadOf(node, 'workflow').name;
  }
  const folder = fileOf(start, 'workflow');
  const known = names.get(repository) ?? new Map<ObjectId, string>();
  names.set(repository, known);
  const name = folder && known.get(folder);
  if (name !== undefined) return name;
  const file = folder && (await readAnyTree(repository.objects, folder)).find((each) => each.name === 'workflow.json');
  if (folder === undefined || file === undefined) throw new CorruptThread(start.id, `${path} is not there`);
  const found = payloadOf(await readNodeAt(repository, { hash: start.node.workflow, oid: file.id }), 'workflow').name;
  known.set(folder, found);
  return found;
}
