import type { ObjectId } from '../../git/format/object-id.ts';
import type { ObjectStore } from '../../git/object-store.ts';
import { readCommit, type ObjectReader } from '../../git/stores/read.ts';
import { nothingForDataError } from '../../thread/fault-of.ts';
import { readRecord, type RedactionRecord } from '../../thread/secrets/redaction-record.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Relation } from './relate-tips.ts';
import { eachOnce } from '../each-once.ts';

type Relate = (one: ObjectId, other: ObjectId) => Promise<Relation | undefined>;

/** Redaction records: which commit replaced which, when secrets were taken out of threads. */
export class Redactions {
  /** By the ids that the threads had before. */
  readonly records: Map<ThreadId, RedactionRecord[]> = new Map();
  readonly #after = new Map<ObjectId, Set<ObjectId>>();

  /** Reads the records of some refs. A record that cannot be read is ignored. */
  static async read(
    objects: Pick<ObjectStore, 'read' | 'format'>,
    refs: Iterable<readonly [ThreadId, ObjectId]>,
  ): Promise<Redactions> {
    const redactions = new Redactions();
    for (const [thread, id] of refs) {
      const record = await readRecord(objects, id).catch(nothingForDataError);
      if (record) redactions.#add(thread, record);
    }
    return redactions;
  }

  /** Tells whether a commit was replaced by a redaction. */
  isGone(id: ObjectId | null): boolean {
    return id !== null && this.#after.has(id);
  }

  /** Tells whether a commit descends from a redacted one. */
  async isBeyond(objects: ObjectReader, thread: ThreadId, tip: ObjectId): Promise<boolean> {
    if (!this.records.has(thread) || this.isGone(tip)) return false;
    for (let at: ObjectId | undefined = tip; at !== undefined;) {
      if (this.isGone(at)) return true;
      [at] = (await readCommit(objects, at)).parents;
    }
    return false;
  }

  /** Extends a relation: the successor of a redacted commit counts as its descendant. */
  relating<Answer extends Relation | undefined>(
    relate: (one: ObjectId, other: ObjectId) => Promise<Answer>,
  ): (one: ObjectId, other: ObjectId) => Promise<Answer | Relation> {
    return async (one, other) => {
      for (const after of this.#allAfter(one))
        if (await isAncestor(relate, after, other)) return { kind: 'behind', by: 1 };
      for (const after of this.#allAfter(other))
        if (await isAncestor(relate, after, one)) return { kind: 'ahead', by: 1 };
      return relate(one, other);
    };
  }

  #add(thread: ThreadId, record: RedactionRecord): void {
    this.records.set(thread, [...(this.records.get(thread) ?? []), record]);
    for (const [before, after] of record.commits) {
      const known = this.#after.get(before) ?? new Set();
      this.#after.set(before, known.add(after));
    }
  }

  /** All successors of a commit, the last first. */
  #allAfter(id: ObjectId): ObjectId[] {
    const found = new Set<ObjectId>();
    const waiting = [...(this.#after.get(id) ?? [])];
    for (const next of eachOnce(waiting, found)) {
      waiting.push(...(this.#after.get(next) ?? []));
    }
    return [...found].toReversed();
  }
}

async function isAncestor(relate: Relate, one: ObjectId, other: ObjectId): Promise<boolean> {
  // The commits that a record names may be missing.
  const kind = one === other ? 'same' : (await relate(one, other).catch(nothingForDataError))?.kind;
  return kind === 'same' || kind === 'behind';
}
