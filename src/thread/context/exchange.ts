import type { Repository } from '../../git/repository.ts';
import type { SuspendCause } from '../../schema/built-in/thread-suspend.ts';
import { readSuspension, type RefusedReply, type Suspension } from '../read/read-suspension.ts';
import { readTextAt } from '../thread-commit.ts';
import type { CommitOf } from '../read/thread-state.ts';

/** One event between a role and people during an unfinished turn; `after` counts the steps before it. */
export type Exchanged = { after: number } & (
  | {
      kind: 'suspended';
      cause: SuspendCause;
      reason: string;
      /** What the agent said before it stopped, without what it repeats of its prompt; empty if nothing. */
      said: string;
      /** Oldest first, without the one whose text and errors are in `said` and `reason`. */
      refused: readonly Pick<RefusedReply, 'text' | 'errors'>[];
    }
  /** `words` is absent if a person continued the thread without an answer. */
  | { kind: 'resumed'; words: string | undefined }
);

/** A commit of an exchange; `after` counts the steps before it. */
export type ExchangeCommit = { commit: CommitOf<'suspend' | 'resume'>; after: number };

/** Reads the commits of an exchange. */
export async function readExchange(repository: Repository, commits: readonly ExchangeCommit[]): Promise<Exchanged[]> {
  const exchange: Exchanged[] = [];
  for (const { commit, after } of commits) {
    const told =
      commit.kind === 'suspend' ? await readStop(repository, commit) : await readResumption(repository, commit);
    exchange.push({ after, ...told });
  }
  return exchange;
}

type Event<K extends Exchanged['kind']> = Omit<Extract<Exchanged, { kind: K }>, 'after'>;

async function readResumption(repository: Repository, commit: CommitOf<'resume'>): Promise<Event<'resumed'>> {
  const words = commit.node.answer === null ? undefined : await readTextAt(repository, commit, 'answer.md');
  return { kind: 'resumed', words };
}

async function readStop(repository: Repository, commit: CommitOf<'suspend'>): Promise<Event<'suspended'>> {
  const suspension = await readSuspension(repository, commit);
  const { cause, reason, text: output } = suspension;
  const prompt = await readTextAt(repository, commit, 'prompt.md');
  // For a person, the output is the prompt with a form below it. No agent has written any of it.
  const said = cause === 'human' && output.startsWith(prompt) ? '' : withoutPrompt(output, prompt);
  const answered = suspension.refused.filter((reply) => !reply.interrupted);
  // The reason and the text of a turn that was given up repeat its last rejected reply.
  const others = isGivenUp(suspension) ? answered.slice(0, -1) : answered;
  const refused = others.map(({ text, errors }) => ({ text: withoutPrompt(text, prompt), errors }));
  return { kind: 'suspended', cause, reason, said, refused };
}

/** Tells whether a turn was suspended because its agent failed at each try, not because it asked something. */
export async function hasFailed(repository: Repository, commit: CommitOf<'suspend'>): Promise<boolean> {
  return commit.node.cause === 'agent' && isGivenUp(await readSuspension(repository, commit));
}

/**
 * Tells whether a turn ended with a rejected reply: the turn then has the text of that reply. An agent that asks something
 * without a text, after a try without a text, counts as one.
 */
function isGivenUp({ cause, text, refused }: Suspension): boolean {
  const last = refused.findLast((reply) => !reply.interrupted);
  return (cause === 'agent' || cause === 'invalid-reply') && last?.text === text;
}

/** Removes the prompt from a text that repeats it. Otherwise the text would double with each turn. */
function withoutPrompt(text: string, prompt: string): string {
  return prompt === '' ? text : text.replaceAll(prompt, () => '[the prompt]\n');
}
