import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { CorruptThread } from '../thread-errors.ts';
import { readLightCommit, readReply, type LightCommit, type LightStart } from './light-chain.ts';

/** Finds the start of the thread that a commit belongs to; `undefined` if it cannot be read. Lists report the corrupt thread. */
export async function findStart(repository: Repository, from: ObjectId): Promise<LightStart | undefined> {
  try {
    return await startOf(repository, await readLightCommit(repository, from));
  } catch {
    return undefined;
  }
}

/**
 * Reads the start of the thread that a commit belongs to. The commit's totals name it, and its node has the hash.
 * @throws {CorruptThread} if there is none
 */
export async function startOf(repository: Repository, from: LightCommit): Promise<LightStart> {
  if (from.kind === 'start') return from;
  const start = await readLightCommit(repository, from.node.totals.start);
  if (start.kind === 'start' && start.hash === from.node.start) return start;
  throw new CorruptThread(from.id, 'its totals name another start than its node');
}

/** Reads what the user of a thread asked for; `undefined` if the thread cannot be read. */
export async function readThreadPrompt(repository: Repository, head: ObjectId): Promise<string | undefined> {
  const start = await findStart(repository, head);
  return start && readReply(repository, start).catch(() => undefined);
}
