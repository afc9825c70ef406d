import { UwfError } from '../../errors.ts';
import type { Repository, RepositoryLocation } from '../../git/repository.ts';

/** @throws {UwfError} `not-on-disk` for a repository in memory */
export function onDisk(repository: Repository): Repository & { location: RepositoryLocation } {
  const { location } = repository;
  if (location !== undefined) return { ...repository, location };
  throw new UwfError('the repository is not on a disk', { code: 'not-on-disk', kind: 'usage' });
}
