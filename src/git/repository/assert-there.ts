import { statSync } from 'node:fs';
import { UwfError } from '../../errors.ts';
import type { Repository } from '../repository.ts';

/**
 * Checks that an open repository still exists. Readers would take a deleted one for empty, and writers would create its
 * folders again, with nothing else in them.
 * @throws {UwfError} `repository-not-found`
 */
export function assertThere({ location }: Pick<Repository, 'location'>): void {
  // Not the folder: a writer that was running may have created it again, without `HEAD`.
  if (location === undefined || statSync(`${location.commonDir}/HEAD`, { throwIfNoEntry: false }) !== undefined) return;
  throw repositoryGone(location.commonDir);
}

/** Replaces an error by `repository-not-found` if the repository does not exist any more; else returns it unchanged. */
export function explainGone(repository: Pick<Repository, 'location'>, error: unknown): unknown {
  try {
    assertThere(repository);
    return error;
  } catch (gone) {
    return gone;
  }
}

/** @param path of it, or of a part without which it is none */
export function repositoryGone(path: string): UwfError {
  return new UwfError(`the repository ${path} is there no more`, {
    code: 'repository-not-found',
    kind: 'environment',
    hint: 'it was removed or moved, or its disk is away; start the command again where the repository is now',
    facts: { path },
  });
}
