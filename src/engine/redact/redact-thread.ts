import { existsSync } from 'node:fs';
import { prepareHashing } from '../../cas/hash.ts';
import { UwfError } from '../../errors.ts';
import { ObjectBatch, repositoryWith } from '../../git/stores/publish.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit } from '../../git/stores/read.ts';
import { parseRefName } from '../../git/format/refs.ts';
import type { RefEdit, RefName, Repository } from '../../git/repository.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { findCalledNow } from '../../thread/find-children.ts';
import { EVERYWHERE, findThread, getThread, listPointers } from '../../thread/find-thread.ts';
import {
  parseThreadId,
  REMOTES_PREFIX,
  scratchRef,
  type ThreadId,
  type ThreadPointer,
} from '../../thread/thread-id.ts';
import { forkIdFor } from '../../thread/new-thread-id.ts';
import { findStart } from '../../thread/thread-chain.ts';
import { readState } from '../../thread/thread-state.ts';
import { makeRemovalMark, removedRef, removeThreads } from '../../thread/remove-thread.ts';
import { scanThreads, type SecretPlace, SecretScan } from '../../thread/secret-scan.ts';
import { CorruptThread, NoRefOfItsOwn, nothingForDataError } from '../../thread/thread-errors.ts';
import { INCOMING_LIMITS } from '../../verify/check-incoming.ts';
import { Verification } from '../../verify/verification.ts';
import { pendingPath } from '../recovery/pending-turn.ts';
import { type Lease, takeLease } from '../leases/lease.ts';
import { Rewriter } from './rewrite-thread.ts';

/** A thread that was written anew, as another one. */
export type RewrittenThread = {
  thread: ThreadId;
  /** The id of the thread that took its place. */
  now: ThreadId;
  before: ObjectId;
  after: ObjectId;
};

export type ThreadRedaction = {
  /** Where the secrets were. */
  secrets: SecretPlace[];
  /** The thread, and all that share commits with it: forks, callers, child threads. */
  threads: RewrittenThread[];
  /** How many commits were written anew. */
  commits: number;
  /** Where secrets stay: what is pinned, and files that are too large. */
  remains: SecretPlace[];
  /** Other refs that lead to what was there before. */
  heldBy: RefName[];
};

/** A thread cannot be written anew. Nothing was changed. */
function redactionRefused(thread: ThreadId, reason: string, hint: string): UwfError {
  return new UwfError(`thread ${thread} cannot be written anew: ${reason}`, {
    code: 'redaction-refused',
    kind: 'data',
    hint,
  });
}

export type PlannedRedaction = ThreadRedaction & {
  /** Makes the change: all of it, or nothing. */
  apply: () => Promise<void>;
};

/**
 * Writes a thread anew without its secrets, as a thread of another id, and with it all threads that share the commits that
 * change. The threads themselves are removed, and leave marks. What it gives has been verified; nothing is changed before it is
 * applied.
 * @throws {UwfError} `redaction-refused` if what would be written is not sound, or a caller waits for the thread
 */
export async function planRedaction(repository: Repository, redactor: Redactor, id: string): Promise<PlannedRedaction> {
  await prepareHashing();
  const pointer = await getThread(repository, id);
  if (pointer.keptBy !== undefined) throw new NoRefOfItsOwn(pointer.id, pointer.keptBy);
  const secrets = await findSecrets(repository, redactor, pointer);
  const nothing = { secrets, threads: [], commits: 0, remains: [], heldBy: [], apply: () => Promise.resolve() };
  if (secrets.length === 0) return nothing;
  const all = await listPointers(repository, EVERYWHERE);
  const dirty = new Set(secrets.map(({ commit }) => commit));
  const found = await findAffected(repository, all, dirty);
  // Callers come first: the ids of the children that they wait for follow from theirs.
  const depths = new Map<ThreadId, number>();
  for (const { id, head } of found.threads) depths.set(id, (await findStart(repository, head))?.node.depth ?? 0);
  const callersFirst = found.threads.toSorted((a, b) => (depths.get(a.id) ?? 0) - (depths.get(b.id) ?? 0));
  const affected = await findAffected(repository, callersFirst, dirty);
  const batch = new ObjectBatch(repository.objects.format);
  const rewriter = new Rewriter(repository, redactor, batch);
  for (const id of affected.commits) {
    await rewriter.rewrite(id);
    for (const thread of affected.threads) if (thread.head === id) await giveNewId(repository, rewriter, thread);
  }
  const view = repositoryWith(repository, batch);
  const threads = affected.threads.flatMap((thread): Moved[] => {
    const [now, after] = [rewriter.ids.get(thread.id), rewriter.commits.get(thread.head)];
    return now === undefined || after === undefined ? [] : [{ pointer: thread, now, after }];
  });
  await assertSound(view, threads, new Set(rewriter.commits.values()));
  const remains: SecretPlace[] = [];
  for (const { pointer: old, now, after } of threads) {
    remains.push(...(await findSecrets(view, redactor, { id: now, ref: old.ref, head: after, isHistory: false })));
  }
  const heldBy = await findHolders(repository, rewriter, new Set(affected.threads.map(({ ref }) => ref)));
  const commits = rewriter.commits.size;
  const told = threads.map(({ pointer: { id: thread, head: before }, now, after }) => ({ thread, now, before, after }));
  const apply = (): Promise<void> => applyRedaction(repository, batch, rewriter, threads);
  return threads.length === 0
    ? { ...nothing, remains: secrets }
    : { secrets, threads: told, commits, remains, heldBy, apply };
}

type Moved = { pointer: ThreadPointer; now: ThreadId; after: ObjectId };

/**
 * Names the thread that takes the place of one whose head was just written anew: as the fork that keeps that head. The id of a
 * child whose start was written anew follows from its call.
 */
async function giveNewId(repository: Repository, { commits, ids }: Rewriter, thread: ThreadPointer): Promise<void> {
  const after = commits.get(thread.head);
  if (after === undefined || ids.has(thread.id)) return;
  const { node } = (await findStart(repository, thread.head)) ?? {};
  // The caller finds the child by its id alone.
  const waiting = node?.call && node.id === thread.id ? parseThreadId(node.call.thread) : undefined;
  const caller = waiting && (await findThread(repository, waiting));
  if (caller && !caller.isHistory) {
    const called = await findCalledNow(repository, await readState(repository, caller.id, caller.head), caller.id);
    const hint = `'uwf thread run ${caller.id}' goes on with that thread, 'uwf thread cancel ${caller.id}' ends it; repeat then`;
    if (called.some(({ pointer }) => pointer.id === thread.id))
      throw redactionRefused(thread.id, `thread ${caller.id} waits for it`, hint);
  }
  const { committer } = await readCommit(repository.objects, thread.head);
  ids.set(thread.id, forkIdFor(thread.id, after, committer.atMs));
}

async function findSecrets(repository: Repository, redactor: Redactor, pointer: ThreadPointer): Promise<SecretPlace[]> {
  const found: SecretPlace[] = [];
  for await (const { places, unread } of scanThreads(repository, new SecretScan(repository, redactor), [pointer])) {
    if (unread !== undefined) throw new CorruptThread(pointer.head, unread);
    found.push(...places);
  }
  return found;
}

/** Verifies what would be written as what is fetched is verified; what stays was verified before. */
async function assertSound(view: Repository, threads: readonly Moved[], written: ReadonlySet<ObjectId>): Promise<void> {
  const origin = {
    isKnown: (id: ObjectId) => Promise.resolve(!written.has(id)),
    checkObjects: () => Promise.resolve(),
    checkCode: () => Promise.resolve(),
    limits: INCOMING_LIMITS,
  };
  const verification = new Verification(view, { origin });
  for (const { pointer, after } of threads) {
    const wrong = await verification.faultOf(after);
    const hint = `'uwf thread verify ${pointer.id}' tells whether it is sound as it is; 'uwf thread rm ${pointer.id}' removes it`;
    if (wrong !== undefined) throw redactionRefused(pointer.id, `it would not be sound: ${wrong}`, hint);
  }
}

async function findHolders(
  { refs }: Repository,
  { commits, snapshots }: Rewriter,
  own: ReadonlySet<string>,
): Promise<RefName[]> {
  const all = await refs.list('refs/');
  return all
    .filter(
      ({ name, id }) => (commits.has(id) || snapshots.has(id)) && !own.has(name) && !name.startsWith(REMOTES_PREFIX),
    )
    .map(({ name }) => name);
}

/**
 * Makes the new threads, and removes the old ones, in one change, under the leases of all of them, so that no turn goes on from
 * what is left behind.
 */
async function applyRedaction(
  repository: Repository,
  batch: ObjectBatch,
  rewriter: Rewriter,
  threads: readonly Moved[],
): Promise<void> {
  const leases: Lease[] = [];
  try {
    for (const { pointer } of threads) {
      leases.push(await takeLease(repository, pointer.id));
      const path = pendingPath(repository, pointer.id);
      if (path === undefined || !existsSync(path)) continue;
      const hint = `'uwf thread show ${pointer.id}' says how it is stored; repeat then`;
      throw redactionRefused(pointer.id, 'a finished turn of it is not stored yet', hint);
    }
    const mark = makeRemovalMark(repository.objects.format);
    for (const object of mark.batch.objects) batch.add(object);
    const edits: RefEdit[] = [];
    for (const moved of threads) edits.push(...(await editsOf(repository, rewriter, moved, mark.id)));
    for (const { name, id } of await repository.refs.list(REMOTES_PREFIX)) {
      const isOfThread = threads.some(({ pointer }) => name.endsWith(`/${pointer.id}`));
      if (rewriter.commits.has(id) && !isOfThread) edits.push({ name, expected: id, value: null });
    }
    const written = await repository.objects.write(batch.objects);
    try {
      const old = threads.map(({ pointer }) => pointer);
      await removeThreads(repository, old, edits);
    } finally {
      await written.release();
    }
  } finally {
    for (const lease of leases) lease.release();
  }
}

/** The refs of the thread that takes the place of one, and the mark of that one. */
async function editsOf(
  repository: Repository,
  rewriter: Rewriter,
  { pointer, now, after }: Moved,
  mark: ObjectId,
): Promise<RefEdit[]> {
  const { refs } = repository;
  const name = removedRef(pointer.id);
  const edits: RefEdit[] = [{ name, expected: (await refs.read(name)) ?? null, value: mark }];
  // It was fetched and redacted before, and may have gone on.
  if (await findThread(repository, now)) return edits;
  edits.push({ name: parseRefName(pointer.ref.replace(pointer.id, now)), expected: null, value: after });
  const scratch = await refs.read(scratchRef(pointer.id));
  if (scratch === undefined) return edits;
  await rewriter.rewrite(scratch);
  return [...edits, { name: scratchRef(now), expected: null, value: rewriter.commits.get(scratch) ?? scratch }];
}

/** Clocks of machines that work on one thread may differ by so much. */
const SKEW_MS = 24 * 60 * 60 * 1000;

/** Threads that lead to some commits, and all commits on the way there. */
type Affected = {
  threads: ThreadPointer[];
  /** Those commits and all that stand on them, each after what it stands on. */
  commits: ObjectId[];
};

/**
 * Finds what stands on some commits, among threads: forks, callers, child threads.
 *
 * Looks no further back than a day before the oldest of the commits.
 */
async function findAffected(
  { objects }: Repository,
  threads: readonly ThreadPointer[],
  dirty: ReadonlySet<ObjectId>,
): Promise<Affected> {
  const times = await Promise.all([...dirty].map(async (id) => (await readCommit(objects, id)).committer.atMs));
  const oldestMs = Math.min(...times) - SKEW_MS;
  /** Whether a commit leads to one of them; `undefined` while that is being found out. */
  const leads = new Map<ObjectId, boolean | undefined>();
  const commits: ObjectId[] = [];
  const settle = async (head: ObjectId): Promise<void> => {
    const stack: { id: ObjectId; parents: readonly ObjectId[]; next: number }[] = [];
    const enter = async (id: ObjectId): Promise<void> => {
      if (leads.has(id)) return;
      leads.set(id, undefined);
      // What is damaged, or no commit, leads nowhere.
      const commit = await readCommit(objects, id).catch(nothingForDataError);
      const isOld = commit === undefined || commit.committer.atMs < oldestMs;
      stack.push({ id, parents: isOld ? [] : commit.parents, next: 0 });
    };
    await enter(head);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const parent = top.parents[top.next];
      top.next += 1;
      if (parent !== undefined) {
        await enter(parent);
        continue;
      }
      const isAffected = dirty.has(top.id) || top.parents.some((id) => leads.get(id) === true);
      leads.set(top.id, isAffected);
      if (isAffected) commits.push(top.id);
      stack.pop();
    }
  };
  const found: ThreadPointer[] = [];
  for (const thread of threads) {
    await settle(thread.head);
    if (leads.get(thread.head) === true) found.push(thread);
  }
  return { threads: found, commits };
}
