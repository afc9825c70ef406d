import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { Repository } from '../../src/git/repository.ts';

/** A repository that records which objects are read. */
export function watched(repository: Repository): { repository: Repository; read: ObjectId[] } {
  const read: ObjectId[] = [];
  const objects: Repository['objects'] = {
    format: repository.objects.format,
    read: (id, options) => {
      read.push(id);
      return repository.objects.read(id, options);
    },
    has: (id) => repository.objects.has(id),
    write: (batch) => repository.objects.write(batch),
    close: () => repository.objects.close(),
  };
  return { repository: { ...repository, objects }, read };
}
