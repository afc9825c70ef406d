import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from '../../git/repository.ts';
import type { ThreadId } from '../../thread/thread-id.ts';

/** Where the kept or the held turn of a thread is; `undefined` where there is no disk. */
export function keptPath({ stateDir }: Repository, thread: ThreadId, folder: 'kept' | 'held'): string | undefined {
  return stateDir === undefined ? undefined : join(stateDir, folder, `${thread}.json`);
}

/** The file of the turn that is kept for a thread; `undefined` if there is none. */
export function findKeptTurn(repository: Repository, thread: ThreadId): string | undefined {
  const path = keptPath(repository, thread, 'kept');
  return path !== undefined && existsSync(path) ? path : undefined;
}
