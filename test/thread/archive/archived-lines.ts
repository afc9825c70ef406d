import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { ObjectBatch } from '../../../src/git/stores/publish.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { addListCommit, type ArchivedThread, editList } from '../../../src/thread/archive-list.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Lines of threads that began in one millisecond: their ids differ at the end alone. */
export function archivedLines(count: number): ArchivedThread[] {
  return Array.from({ length: count }, (_, at) => {
    const tail = [at >> 10, at >> 5, at].map((digit) => alphabet.charAt(digit & 31)).join('');
    const id = parseThreadId(`01M8AW7N8D8DPNSHNEDGKHM${tail}`);
    return { id, end: `${at}`.padStart(40, 'a') as ObjectId, endedOn: '2026-11-21' };
  });
}

/** Stores a list of these lines; returns its commit. */
export async function storeList(
  repository: Pick<Repository, 'objects'>,
  lines: readonly ArchivedThread[],
): Promise<ObjectId> {
  const batch = new ObjectBatch();
  const tree = await editList(repository.objects, batch, undefined, new Map(lines.map((line) => [line.id, line])));
  const commit = addListCommit(batch, tree);
  await repository.objects.write(batch.objects);
  return commit;
}
