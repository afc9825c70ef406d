import type { ObjectId } from '../../git/format/object-id.ts';
import type { ObjectStore } from '../../git/object-store.ts';
import { readCommit } from '../../git/stores/read.ts';
import { forkIdFor } from '../../thread/new-thread-id.ts';
import type { Lineage } from './reconcile-thread.ts';
import { relateTips, type Relation } from './relate-tips.ts';

/** Answers from the commits of a repository, and remembers the answers. */
export function createLineage(objects: Pick<ObjectStore, 'read'>): Lineage {
  const known = new Map<string, Relation>();
  return {
    async relate(one: ObjectId, other: ObjectId): Promise<Relation> {
      const question = `${one} ${other}`;
      const relation = known.get(question) ?? (await relateTips(objects, one, other));
      known.set(question, relation);
      return relation;
    },
    async forkId(thread, tip) {
      const { committer } = await readCommit(objects, tip);
      return forkIdFor(thread, tip, committer.atMs);
    },
  };
}
