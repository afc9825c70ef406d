import { iso } from '../../iso.ts';
import { readNodeAt, type NodeReader } from '../../cas/commit-nodes.ts';
import type { NodeHash } from '../../cas/hash.ts';
import type { IndexEntry } from '../../cas/index-blob.ts';
import type { Repository } from '../../git/repository.ts';
import type { TypeName } from '../../schema/built-in.ts';
import type { SuspendCause } from '../../schema/built-in/thread-suspend.ts';
import type { Usage } from '../../schema/built-in/usage.ts';
import { payloadOf, type Payloads } from '../../schema/payload-of.ts';
import { CorruptThread } from '../thread-errors.ts';
import { readTextAt } from '../thread-commit.ts';
import { readReply } from './light-chain.ts';
import type { CommitOf } from './thread-state.ts';

/** A rejected reply, and why; with `interrupted` a try that was cut off, whose text may be empty. */
export type RefusedReply = {
  attempt: NodeHash;
  errors: string[];
  text: string;
  usage: Usage | null;
  interrupted?: true;
};

/** A suspended turn: its role, the reason, and what was said. */
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
  /** When the turn can be taken again, ISO 8601; absent if that does not depend on the time. */
  due?: string;
};

/**
 * Reads what was said in a turn that ended in a suspension.
 * @throws {CorruptThread} if a part of it is not in the commit
 */
export async function readSuspension(repository: Repository, commit: CommitOf<'suspend'>): Promise<Suspension> {
  const text = commit.node.content === null ? '' : await readTextAt(repository, commit, 'output.md');
  return suspensionOf(commit, text, await readRefused(repository, commit));
}

/** A suspended turn, with its text and rejected replies, as far as they are known. */
function suspensionOf<Refused>(
  { hash, node }: CommitOf<'suspend'>,
  text: string,
  refused: Refused,
): Omit<Suspension, 'refused'> & { refused: Refused } {
  const { role, reason, cause, react, usage, due } = node;
  const dueAt = due !== undefined && { due: iso(due) };
  return { suspension: hash, role, reason, cause, text, refused, trace: react, usage, ...dueAt };
}

/**
 * Reads the rejected replies of a turn.
 * @throws {CorruptThread} if one is not in the commit
 */
export async function readRefused(repository: Repository, commit: Turn): Promise<RefusedReply[]> {
  const refused: RefusedReply[] = [];
  for (const attempt of commit.node.attempts) {
    const { content, errors, usage, interrupted } = await read(repository, commit, attempt, 'attempt');
    const { text } = await read(repository, commit, content, 'content');
    refused.push({ attempt, errors, text, usage, ...(interrupted && { interrupted }) });
  }
  return refused;
}

type Turn = CommitOf<'step' | 'suspend'>;

async function read<Name extends keyof Payloads>(
  repository: NodeReader,
  commit: Turn,
  hash: NodeHash,
  type: Name,
): Promise<Payloads[Name]> {
  return payloadOf(await readNodeAt(repository, entryOf(commit, hash, type)), type);
}

/** The index entry of a turn's node. */
function entryOf(commit: Turn, hash: NodeHash, type: TypeName): IndexEntry {
  const entry = commit.index.find((candidate) => candidate.hash === hash);
  if (entry === undefined) throw new CorruptThread(commit.id, `it has no ${type} ${hash}`);
  return entry;
}

/** A rejected reply without its text. */
type RefusedOutline = Pick<RefusedReply, 'attempt' | 'errors' | 'interrupted'>;

/** A suspended turn for lists and logs: without the texts of rejected replies. */
export type SuspensionOutline = Omit<Suspension, 'refused'> & {
  refused: RefusedOutline[];
};

/**
 * Reads a suspended turn, without the texts of its rejected replies.
 * @throws {CorruptThread} if a part of it is not in the commit
 */
export async function outlineSuspension(
  repository: Repository,
  commit: CommitOf<'suspend'>,
): Promise<SuspensionOutline> {
  return suspensionOf(commit, await readReply(repository, commit), await readErrors(repository, commit));
}

async function readErrors(repository: Repository, commit: CommitOf<'suspend'>): Promise<RefusedOutline[]> {
  const refused: RefusedOutline[] = [];
  for (const attempt of commit.node.attempts) {
    const { errors, interrupted } = await read(repository, commit, attempt, 'attempt');
    refused.push({ attempt, errors, ...(interrupted && { interrupted }) });
  }
  return refused;
}
