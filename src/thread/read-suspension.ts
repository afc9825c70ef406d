import { readNodeAt, type NodeReader } from '../cas/commit-nodes.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { IndexEntry } from '../cas/index-blob.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { TypeName } from '../schema/built-in.ts';
import type { Attempt } from '../schema/built-in/attempt.ts';
import type { SuspendCause } from '../schema/built-in/thread-suspend.ts';
import type { Usage } from '../schema/built-in/usage.ts';
import { payloadOf, type Payloads } from '../schema/payload-of.ts';
import { CorruptThread } from './thread-errors.ts';
import { readTextAt } from './thread-commit.ts';
import type { CommitOf } from './thread-state.ts';

/** A reply that was not accepted, and why. */
export type RefusedReply = { attempt: NodeHash; errors: string[]; text: string; usage: Usage | null };

/** A turn that ended in a suspension: who waits for what, and all that was said until then. */
export type Suspension = {
  /** The hash of its node. */
  suspension: NodeHash;
  role: string;
  reason: string;
  cause: SuspendCause;
  /** What the agent said before it stopped; '' if nothing. */
  text: string;
  /** Oldest first. */
  refused: RefusedReply[];
  /** The session that `readTrace` reads; null where the agent left no trace. */
  trace: NodeHash | null;
  usage: Usage | null;
  /** When it makes sense to go on, ISO 8601; absent where that does not depend on the time. */
  due?: string;
};

/**
 * Reads what was said in a turn that ended in a suspension.
 * @throws {CorruptThread} if a part of it is not in the commit
 */
export async function readSuspension(repository: Repository, commit: CommitOf<'suspend'>): Promise<Suspension> {
  await repository.objects.prefetch?.(textsOf(commit));
  const { role, reason, cause, content, react, usage, due } = commit.node;
  return {
    suspension: commit.hash,
    role,
    reason,
    cause,
    text: content === null ? '' : await readTextAt(repository, commit, 'output.md'),
    refused: await readRefused(repository, commit),
    trace: react,
    usage,
    ...(due !== undefined && { due: new Date(due).toISOString() }),
  };
}

/**
 * Reads the replies of a turn that were not accepted.
 * @throws {CorruptThread} if one is not in the commit
 */
export async function readRefused(repository: Repository, commit: Turn): Promise<RefusedReply[]> {
  const refused: RefusedReply[] = [];
  for (const attempt of commit.node.attempts) {
    const { content, errors, usage } = await readAttempt(repository, commit, attempt);
    const { text } = await read(repository, commit, content, 'content');
    refused.push({ attempt, errors, text, usage });
  }
  return refused;
}

type Turn = CommitOf<'step' | 'suspend'>;

/** Reads an attempt of a turn, and not what was said in it. */
export async function readAttempt(repository: NodeReader, commit: Turn, hash: NodeHash): Promise<Attempt> {
  return read(repository, commit, hash, 'attempt');
}

async function read<Name extends keyof Payloads>(
  repository: NodeReader,
  commit: Turn,
  hash: NodeHash,
  type: Name,
): Promise<Payloads[Name]> {
  return payloadOf(await readNodeAt(repository, entryOf(commit, hash, type)), type);
}

/** Where a node of a turn lies. */
export function entryOf(commit: Turn, hash: NodeHash, type: TypeName): IndexEntry {
  const entry = commit.index.find((candidate) => candidate.hash === hash);
  if (entry === undefined) throw new CorruptThread(commit.id, `it has no ${type} ${hash}`);
  return entry;
}

/** What a person said to a suspension; '' for a mere go-ahead. */
export async function readAnswer(repository: Repository, commit: CommitOf<'resume'>): Promise<string> {
  return commit.node.answer === null ? '' : readTextAt(repository, commit, 'answer.md');
}

/** Where the texts of a suspension or an answer lie: a light fetch may have left them out. */
export function textsOf({ kind, index }: CommitOf<'suspend' | 'resume'>): ObjectId[] {
  const wanted = kind === 'suspend' ? /^(?:output\.md$|attempts\/)/ : /^answer\.md$/;
  return index.filter(({ path }) => wanted.test(path)).map(({ oid }) => oid);
}
