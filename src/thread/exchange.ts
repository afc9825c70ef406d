import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { SuspendCause } from '../schema/built-in/thread-suspend.ts';
import { readRefused, type RefusedReply } from './read-suspension.ts';
import { readTextAt, type ThreadCommit } from './thread-commit.ts';
import type { CommitOf } from './thread-state.ts';

/** One thing that passed between a role and people while its turn was not done; `after` counts the steps before it. */
export type Exchanged = { after: number } & (
  | {
      kind: 'suspended';
      cause: SuspendCause;
      reason: string;
      /** What the agent said before it stopped, without what it repeats of its prompt; empty if nothing. */
      said: string;
      /** Oldest first; without the one that `said` and `reason` tell of. */
      refused: readonly Pick<RefusedReply, 'text' | 'errors'>[];
    }
  /** `words` are absent where a person only let the thread go on. */
  | { kind: 'resumed'; words: string | undefined }
);

/** Where in a thread something was exchanged. */
export type ExchangeCommit = { commit: CommitOf<'suspend' | 'resume'>; after: number };

/** Reads what the commits of an exchange say. Texts that a light fetch has left out come in one connection. */
export async function readExchange(repository: Repository, commits: readonly ExchangeCommit[]): Promise<Exchanged[]> {
  await repository.objects.prefetch?.(commits.flatMap(({ commit }) => textsOf(commit)));
  const exchange: Exchanged[] = [];
  for (const { commit, after } of commits) {
    const told =
      commit.kind === 'suspend' ? await readSuspension(repository, commit) : await readResumption(repository, commit);
    exchange.push({ after, ...told });
  }
  return exchange;
}

const TEXTS = /^(?:answer\.md|output\.md|prompt\.md|attempts\/.*)$/u;

function textsOf({ index }: ThreadCommit): ObjectId[] {
  return index.filter(({ path }) => TEXTS.test(path)).map(({ oid }) => oid);
}

type Told<K extends Exchanged['kind']> = Omit<Extract<Exchanged, { kind: K }>, 'after'>;

async function readResumption(repository: Repository, commit: CommitOf<'resume'>): Promise<Told<'resumed'>> {
  const words = commit.node.answer === null ? undefined : await readTextAt(repository, commit, 'answer.md');
  return { kind: 'resumed', words };
}

async function readSuspension(repository: Repository, commit: CommitOf<'suspend'>): Promise<Told<'suspended'>> {
  const { cause, reason, content } = commit.node;
  const prompt = await readTextAt(repository, commit, 'prompt.md');
  const output = content === null ? '' : await readTextAt(repository, commit, 'output.md');
  // What a person was shown is the prompt with a form below it: none of it was said by an agent.
  const said = cause === 'human' && output.startsWith(prompt) ? '' : withoutPrompt(output, prompt);
  const refused = (await readRefused(repository, commit))
    .filter(({ text, errors }) => !(text === output && isNamedIn(reason, errors)))
    .map(({ text, errors }) => ({ text: withoutPrompt(text, prompt), errors }));
  return { kind: 'suspended', cause, reason, said, refused };
}

/** Tells whether a turn ended because its agent failed at each try, and not because it had something to ask. */
export async function hasFailed(repository: Repository, commit: CommitOf<'suspend'>): Promise<boolean> {
  const { cause, reason, attempts } = commit.node;
  if (cause !== 'agent' || attempts.length === 0) return false;
  const last = (await readRefused(repository, commit)).at(-1);
  return last !== undefined && last.errors.length > 0 && isNamedIn(reason, last.errors);
}

/** A turn that is given up says in its reason why its last reply was not accepted. */
function isNamedIn(reason: string, errors: readonly string[]): boolean {
  return reason.endsWith(errors.join('; '));
}

/** A text without the prompt that it repeats: told again in each turn, it would double each time. */
function withoutPrompt(text: string, prompt: string): string {
  return prompt === '' ? text : text.replaceAll(prompt, () => '[the prompt]\n');
}
