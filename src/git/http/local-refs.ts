import type { ObjectId } from '../object-id.ts';
import type { Repository } from '../repository.ts';

/** Where all refs of a repository are, uwf's own and those that remember remotes included. */
export async function readLocalRefs({ refs }: Pick<Repository, 'refs'>): Promise<Map<string, ObjectId>> {
  return new Map((await refs.list('refs/')).map(({ name, id }) => [name, id]));
}
