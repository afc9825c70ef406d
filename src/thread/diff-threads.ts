import { isDeepStrictEqual } from 'node:util';
import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import { findNewestRecorded } from './step-files.ts';
import { readChain } from './thread-chain.ts';
import { readTextAt, statusOf, type ThreadCommit, type ThreadCommitKind } from './thread-commit.ts';
import type { ThreadId, ThreadPointer } from './thread-id.ts';
import { type CommitOf, stepsUpTo } from './thread-state.ts';

/** One thread's step of a pair. */
export type DiffStep = {
  step: NodeHash;
  head: ObjectId;
  role: string;
  /** `meta.$status`, or null. */
  status: string | null;
  meta: JsonObject;
  text: string;
};

/** The steps with the same number; a side is null if its thread has fewer steps. */
export type StepPair = {
  number: number;
  a: DiffStep | null;
  b: DiffStep | null;
  /** Whether both have the same role and the same reply. */
  isSame: boolean;
};

/** Where two threads diverge, and the steps of each from there on. */
export type ThreadDiff = {
  a: ThreadId;
  b: ThreadId;
  /** The newest commit that both have; null where they share nothing. `number` counts the steps up to it. */
  ancestor: { head: ObjectId; kind: ThreadCommitKind; node: NodeHash; number: number } | null;
  /** The number of the first step that is not the same; null where all are. */
  firstDifference: number | null;
  /** The steps after the ancestor, oldest first. */
  steps: StepPair[];
  /**
   * The newest step of each that recorded the files it left; one of them may be before the ancestor. Null where a thread has
   * none, or neither has one after the ancestor: then their files are the same.
   */
  files: { a: CommitOf<'step'>; b: CommitOf<'step'> } | null;
};

/**
 * Compares two threads step by step, from where they diverge.
 *
 * Reads both back to the newest commit that they share, and further only to find the files of that time. Threads that share
 * none are compared from their starts.
 * @throws {CorruptThread} if one of them cannot be read
 */
export async function diffThreads(repository: Repository, a: ThreadPointer, b: ThreadPointer): Promise<ThreadDiff> {
  const { ownOfA, ownOfB, ancestor } = await part(repository, a.head, b.head);
  const number = ancestor === undefined ? 0 : stepsUpTo(ancestor);
  const [stepsOfA, stepsOfB] = [await readSteps(repository, ownOfA), await readSteps(repository, ownOfB)];
  const steps: StepPair[] = [];
  for (let i = 0; i < Math.max(stepsOfA.length, stepsOfB.length); i += 1) {
    const pair = { a: stepsOfA[i] ?? null, b: stepsOfB[i] ?? null };
    steps.push({ number: number + i + 1, ...pair, isSame: isSame(pair.a, pair.b) });
  }
  return {
    a: a.id,
    b: b.id,
    ancestor: ancestor ? { head: ancestor.id, kind: ancestor.kind, node: ancestor.hash, number } : null,
    firstDifference: steps.find((pair) => !pair.isSame)?.number ?? null,
    steps,
    files: await findFiles(repository, ownOfA, ownOfB, ancestor),
  };
}

type Parted = { ownOfA: ThreadCommit[]; ownOfB: ThreadCommit[]; ancestor: ThreadCommit | undefined };

/** Walks both chains in turn until one reaches a commit of the other. Returns the commits of each side, newest first. */
async function part(repository: Repository, a: ObjectId, b: ObjectId): Promise<Parted> {
  const one = { walk: readChain(repository, a), seen: new Map<ObjectId, ThreadCommit>() };
  const other = { walk: readChain(repository, b), seen: new Map<ObjectId, ThreadCommit>() };
  const cut = (seen: Map<ObjectId, ThreadCommit>, at: ObjectId | undefined): ThreadCommit[] => {
    const commits = [...seen.values()];
    const end = commits.findIndex(({ id }) => id === at);
    return end === -1 ? commits : commits.slice(0, end);
  };
  for (let isMoving = true; isMoving;) {
    isMoving = false;
    for (const [side, across] of [[one, other] as const, [other, one] as const]) {
      const next = await side.walk.next();
      if (next.done) continue;
      isMoving = true;
      const commit = next.value;
      side.seen.set(commit.id, commit);
      if (across.seen.has(commit.id)) {
        return { ownOfA: cut(one.seen, commit.id), ownOfB: cut(other.seen, commit.id), ancestor: commit };
      }
    }
  }
  return { ownOfA: cut(one.seen, undefined), ownOfB: cut(other.seen, undefined), ancestor: undefined };
}

async function readSteps(repository: Repository, newestFirst: readonly ThreadCommit[]): Promise<DiffStep[]> {
  const steps: DiffStep[] = [];
  for (const commit of newestFirst.toReversed()) {
    if (commit.kind !== 'step') continue;
    const { role, meta } = commit.node;
    const text = await readTextAt(repository, commit, 'output.md');
    steps.push({ step: commit.hash, head: commit.id, role, status: statusOf(meta), meta, text });
  }
  return steps;
}

function isSame(a: DiffStep | null, b: DiffStep | null): boolean {
  return a !== null && b !== null && a.role === b.role && a.text === b.text && isDeepStrictEqual(a.meta, b.meta);
}

async function findFiles(
  repository: Repository,
  ownOfA: readonly ThreadCommit[],
  ownOfB: readonly ThreadCommit[],
  ancestor: ThreadCommit | undefined,
): Promise<ThreadDiff['files']> {
  const [own, others] = [ownOfA.find(hasFiles), ownOfB.find(hasFiles)];
  const isShared = ancestor !== undefined && (own === undefined) !== (others === undefined);
  const shared = isShared ? await findNewestRecorded(repository, ancestor) : undefined;
  const [a, b] = [own ?? shared, others ?? shared];
  return a && b ? { a, b } : null;
}

function hasFiles(commit: ThreadCommit): commit is CommitOf<'step'> {
  return commit.kind === 'step' && commit.node.workspace !== undefined;
}
