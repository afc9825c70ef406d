import type { Commit } from '../../git/format/commit.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { mayBeStart } from '../append/commit-message.ts';
import { nothingForDataError } from '../fault-of.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { ThreadId } from '../thread-id.ts';
import { findKeptTallies } from './kept-tallies.ts';
import { readLightChain, readLightCommit, readReply, type LightCommit, type LightStart } from './light-chain.ts';

/** Starts, by the commits that were passed on the way to them. */
export type KnownStarts = Map<ObjectId, LightStart>;

/**
 * Finds the start of the thread that a commit belongs to; `undefined` if its chain cannot be read.
 *
 * @param known starts that were found before; this one is added. Commits that forks share are read once
 * @param thread the thread, if it is known: the data that this machine caches about it can name the start
 */
export async function findStart(
  repository: Repository,
  from: ObjectId,
  known: KnownStarts = new Map(),
  thread?: ThreadId,
): Promise<LightStart | undefined> {
  try {
    const found = known.get(from);
    if (found !== undefined) return found;
    const commit = await readLightCommit(repository, from);
    if (commit.kind === 'start') return commit;
    const kept = thread === undefined ? undefined : findKeptTallies(repository, thread)[0]?.tally.start;
    const start = kept === undefined ? undefined : await readLightCommit(repository, kept).catch(() => undefined);
    if (start?.kind === 'start' && start.hash === commit.node.start) return start;
    return await startOf(repository, commit, known);
  } catch {
    // Lists report the corrupt thread.
    return undefined;
  }
}

/**
 * Reads the start of the thread that a commit belongs to. Of what lies between them it reads the commits alone: their messages
 * tell where the start may be, and the hash of the start, which each commit's node names, proves it.
 *
 * @param passed receives the commits that were read
 * @throws {CorruptThread} if there is none
 */
export async function startOf(
  repository: Repository,
  from: LightCommit,
  known: KnownStarts = new Map(),
  passed: Map<ObjectId, Commit> = new Map(),
): Promise<LightStart> {
  if (from.kind === 'start') return from;
  passed.set(from.id, from.commit);
  let start: LightCommit | undefined;
  for (let [next] = from.commit.parents; next !== undefined;) {
    start = known.get(next);
    if (start !== undefined) break;
    const commit = await readCommit(repository.objects, next);
    passed.set(next, commit);
    // A start has a commit of the user's code as parent if its thread has a work tree of its own.
    if (mayBeStart(commit.message)) {
      start = await readLightCommit(repository, next, commit).catch(nothingForDataError);
      break;
    }
    next = commit.parents[0];
  }
  if (start?.kind !== 'start' || start.hash !== from.node.start) return walkToStart(repository, from.id);
  for (const id of passed.keys()) known.set(id, start);
  return start;
}

/** Finds the start by the trees of all commits. */
async function walkToStart(repository: Repository, from: ObjectId): Promise<LightStart> {
  for await (const commit of readLightChain(repository, from)) if (commit.kind === 'start') return commit;
  throw new CorruptThread(from, 'its chain has no start');
}

/** Reads what the user of a thread asked for; `undefined` if the thread cannot be read. */
export async function readThreadPrompt(repository: Repository, head: ObjectId): Promise<string | undefined> {
  const start = await findStart(repository, head);
  return start && readReply(repository, start).catch(() => undefined);
}
