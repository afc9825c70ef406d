import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { CommitOf } from './thread-state.ts';
import { readTextAt } from '../format/thread-commit.ts';
import { readLightChain } from './light-chain.ts';

/** Starts, by the commits that were passed on the way to them. */
export type KnownStarts = Map<ObjectId, CommitOf<'start'>>;

/**
 * Finds the start of the thread that a commit belongs to; `undefined` if its chain cannot be read.
 *
 * @param known starts that were found before; this one is added. Commits that forks share are read once
 */
export async function findStart(
  repository: Repository,
  from: ObjectId,
  known: KnownStarts = new Map(),
): Promise<CommitOf<'start'> | undefined> {
  const passed: ObjectId[] = [];
  try {
    for await (const commit of readLightChain(repository, from)) {
      passed.push(commit.id);
      const start = commit.kind === 'start' ? commit : known.get(commit.id);
      if (start === undefined) continue;
      for (const id of passed) known.set(id, start);
      return start;
    }
  } catch {
    // Lists report the corrupt thread.
  }
  return undefined;
}

/** Reads what the user of a thread asked for; `undefined` if the thread cannot be read. */
export async function readThreadPrompt(repository: Repository, head: ObjectId): Promise<string | undefined> {
  const start = await findStart(repository, head);
  return start && readTextAt(repository, start, 'prompt.md').catch(() => undefined);
}
