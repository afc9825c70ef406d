import { statSync } from 'node:fs';
import { UwfError } from '../../errors.ts';
import type { Repository } from '../repository.ts';

/**
 * Checks that an open repository has not gone meanwhile: to all readers, one that has is an empty one, and all writers make
 * their folders anew, in which there is nothing else.
 * @throws {UwfError} `repository-not-found`
 */
export function assertThere({ location }: Pick<Repository, 'location'>): void {
  // A writer that was at work may have made the folder again, and no HEAD.
  if (location === undefined || statSync(`${location.commonDir}/HEAD`, { throwIfNoEntry: false }) !== undefined) return;
  throw repositoryGone(location.commonDir);
}

/** What has failed in a repository that has gone has failed for that reason; other errors come back as they are. */
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
