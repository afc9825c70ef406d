import { prepareHashing } from '../../cas/hash.ts';
import { UwfError } from '../../errors.ts';
import { ObjectBatch } from '../../git/stores/object-batch.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { repositoryWith } from '../../git/stores/object-batch.ts';
import { publish } from '../../git/stores/publish.ts';
import { readCommit } from '../../git/stores/read.ts';
import { parseRefName } from '../../git/format/ref-name.ts';
import type { Ref, RefEdit, RefName } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { findArchived } from '../../thread/archive/find-archived.ts';
import { takeOut } from '../../thread/archive/take-out.ts';
import { getThread, type ThreadPointer } from '../../thread/find/find-thread.ts';
import {
  addRecord,
  fitsInRecord,
  joinRecords,
  readRecord,
  redactedRef,
  type RedactionRecord,
} from '../../thread/secrets/redaction-record.ts';
import { REMOTES_PREFIX } from '../../thread/thread-refs.ts';
import { rememberRemoved } from '../../thread/remove/removed-threads.ts';
import { scanThreads } from '../../thread/secrets/scan-threads.ts';
import { SecretScan, type SecretPlace } from '../../thread/secrets/secret-scan.ts';
import { CorruptThread, NoRefOfItsOwn } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX, scratchRef, threadOfRef } from '../../thread/thread-refs.ts';
import { INCOMING_LIMITS } from '../../verify/incoming/incoming-limits.ts';
import { NewCommits } from '../../verify/chain/new-commits.ts';
import { findKeptTurn } from '../recovery/kept-path.ts';
import { takeLease, type Lease } from '../leases/lease.ts';
import { forgetThread } from '../../thread/remove/local-traces.ts';
import { findAffected } from './find-affected.ts';
import { Rewriter } from './rewrite-thread.ts';

/** A thread that was written anew. */
export type RewrittenThread = {
  thread: ThreadId;
  /** Its id now; another one only for a child thread, whose id follows from a commit of its caller. */
  now: ThreadId;
  before: ObjectId;
  after: ObjectId;
};

/** What came of taking secrets out of a thread. */
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

/** What is about to be changed. */
export type PlannedRedaction = ThreadRedaction & {
  /** Makes the change: all of it, or nothing. */
  apply: () => Promise<void>;
};

/**
 * Writes a thread anew without its secrets, and with it all threads that share the commits that change. What it gives has
 * been verified; nothing is changed before it is applied.
 *
 * @throws {ThreadNotFound} {UwfError} `ambiguous-thread` {NoRefOfItsOwn}
 * @throws {UwfError} `redaction-refused` if what would be written is not sound
 */
export async function planRedaction(repository: Repository, redactor: Redactor, id: string): Promise<PlannedRedaction> {
  await prepareHashing();
  const pointer = await getThread(repository, id);
  if (pointer.keptBy !== undefined) throw new NoRefOfItsOwn(pointer.id, pointer.keptBy);
  const secrets = await findSecrets(repository, redactor, pointer);
  const nothing = { secrets, threads: [], commits: 0, remains: [], heldBy: [], apply: () => Promise.resolve() };
  if (secrets.length === 0) return nothing;
  const archived = await findArchived(repository, '');
  const refs = [
    ...(await repository.refs.list(ACTIVE_PREFIX)),
    ...(await repository.refs.list(HISTORY_PREFIX)),
    ...archived.map(({ ref, head }) => ({ name: ref, id: head })),
  ];
  const affected = await findAffected(repository, refs, new Set(secrets.map(({ commit }) => commit)));
  const batch = new ObjectBatch(repository.objects.format);
  const rewriter = new Rewriter(repository, redactor, batch);
  for (const id of affected.commits) await rewriter.rewrite(id);
  const view = repositoryWith(repository, batch);
  const threads = threadsOf(affected.refs, rewriter);
  await assertSound(view, threads, new Set(rewriter.commits.values()));
  for (const moved of threads) {
    if (fitsInRecord((await recordOf(repository, rewriter, moved)).record)) continue;
    const hint = `nothing was changed; 'uwf thread rm ${moved.thread}' removes it`;
    throw redactionRefused(moved.thread, 'no clone could read the record of so many commits', hint);
  }
  const remains: SecretPlace[] = [];
  for (const { now, after, ref } of threads) {
    remains.push(...(await findSecrets(view, redactor, { id: now, ref, head: after, isHistory: false })));
  }
  const heldBy = await findHolders(repository, rewriter, new Set(affected.refs.map(({ name }) => name)));
  const commits = rewriter.commits.size;
  const told = threads.map(({ thread, now, before, after }) => ({ thread, now, before, after }));
  const apply = (): Promise<void> => applyRedaction(repository, batch, rewriter, threads);
  return threads.length === 0
    ? { ...nothing, remains: secrets }
    : { secrets, threads: told, commits, remains, heldBy, apply };
}

type Moved = RewrittenThread & { ref: RefName };

function threadsOf(refs: readonly Ref[], { commits, ids }: Rewriter): Moved[] {
  return refs.flatMap(({ name, id }) => {
    const thread = threadOfRef(name)?.id;
    const after = commits.get(id);
    return thread === undefined || after === undefined
      ? []
      : [{ thread, now: ids.get(thread) ?? thread, before: id, after, ref: name }];
  });
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
    isVerified: (id: ObjectId) => Promise.resolve(!written.has(id)),
    checkObjects: () => Promise.resolve(),
    checkCode: () => Promise.resolve(),
  };
  const verification = new NewCommits(view, origin, INCOMING_LIMITS);
  for (const { thread, after } of threads) {
    const wrong = await verification.verify(after);
    const hint = `'uwf thread verify ${thread}' tells whether it is sound as it is; 'uwf thread rm ${thread}' removes it`;
    if (wrong !== undefined) throw redactionRefused(thread, `it would not be sound: ${wrong}`, hint);
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

/** Moves all refs in one change, under the leases of all threads, so that no turn goes on from what is left behind. */
async function applyRedaction(
  repository: Repository,
  batch: ObjectBatch,
  rewriter: Rewriter,
  threads: readonly Moved[],
): Promise<void> {
  const leases: Lease[] = [];
  try {
    for (const { thread } of threads.toSorted((a, b) => (a.thread < b.thread ? -1 : 1))) {
      leases.push(await takeLease(repository, thread));
      if (findKeptTurn(repository, thread) === undefined) continue;
      const hint = `'uwf thread step ${thread}' stores it; repeat then`;
      throw redactionRefused(thread, 'a finished turn of it is not stored yet', hint);
    }
    // A thread that is rewritten gets its history ref back.
    await takeOut(repository, [...new Set(threads.map(({ thread }) => thread))], { isRestored: true });
    const edits: RefEdit[] = [];
    for (const moved of threads) edits.push(...(await editsOf(repository, batch, rewriter, moved)));
    for (const { name, id } of await repository.refs.list(REMOTES_PREFIX)) {
      if (rewriter.commits.has(id)) edits.push({ name, expected: id, value: null });
    }
    for (const { thread, now, ref } of threads) if (now !== thread) rememberRemoved(repository, thread, [ref]);
    await publish(repository, batch, edits);
    // Journals, sessions and facts have what was said.
    for (const { thread } of threads) forgetThread(repository, thread);
  } finally {
    for (const lease of leases) lease.release();
  }
}

/** The ref of a thread, what was put under it, and the record of what became of its commits. */
async function editsOf(
  repository: Repository,
  batch: ObjectBatch,
  rewriter: Rewriter,
  moved: Moved,
): Promise<RefEdit[]> {
  const { thread, now, before, after, ref } = moved;
  const { refs } = repository;
  const edits = moving(ref, parseRefName(ref.replace(thread, now)), before, after);
  const scratch = await refs.read(scratchRef(thread));
  if (scratch !== undefined) {
    await rewriter.rewrite(scratch);
    edits.push(...moving(scratchRef(thread), scratchRef(now), scratch, rewriter.commits.get(scratch) ?? scratch));
  }
  const { record, earlier } = await recordOf(repository, rewriter, moved);
  const value = addRecord(batch, record, earlier === undefined ? [] : [earlier]);
  return [...edits, { name: redactedRef(thread), expected: earlier ?? null, value }];
}

/** The record of what became of a thread's commits, now and earlier, and the commit of the earlier one. */
async function recordOf(
  { refs, objects }: Repository,
  rewriter: Rewriter,
  { thread, now, before }: Moved,
): Promise<{ record: RedactionRecord; earlier: ObjectId | undefined }> {
  const commits = new Map<ObjectId, ObjectId>();
  for (let at: ObjectId | undefined = before; at !== undefined;) {
    const written = rewriter.commits.get(at);
    if (written === undefined) break;
    commits.set(at, written);
    [at] = (await readCommit(objects, at)).parents;
  }
  const earlier = await refs.read(redactedRef(thread));
  const record = { thread: now, commits };
  return { record: earlier === undefined ? record : joinRecords(await readRecord(objects, earlier), record), earlier };
}

function moving(from: RefName, to: RefName, before: ObjectId, after: ObjectId): RefEdit[] {
  if (from === to) return before === after ? [] : [{ name: from, expected: before, value: after }];
  return [
    { name: to, expected: null, value: after },
    { name: from, expected: before, value: null },
  ];
}
