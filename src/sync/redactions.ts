import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { ObjectStore } from '../git/object-store.ts';
import { readCommit, type ObjectReader } from '../git/read.ts';
import { readRecord, type RedactionRecord } from '../thread/redaction-record.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { Relation } from './relate-tips.ts';

type Relate = (one: ObjectId, other: ObjectId) => Promise<Relation | undefined>;

/** What was said of threads that secrets were taken out of: what took the place of which commit. */
export class Redactions {
  /** By the ids that the threads had. */
  readonly records: Map<ThreadId, RedactionRecord[]> = new Map();
  readonly #after = new Map<ObjectId, Set<ObjectId>>();

  /** Reads what refs say; a record that cannot be read says nothing. */
  static async read(
    objects: Pick<ObjectStore, 'read' | 'format'>,
    refs: Iterable<readonly [ThreadId, ObjectId]>,
  ): Promise<Redactions> {
    const redactions = new Redactions();
    for (const [thread, id] of refs) {
      const record = await readRecord(objects, id).catch(asNothing);
      if (record) redactions.#add(thread, record);
    }
    return redactions;
  }

  /** Tells whether secrets were taken out of a commit. */
  isGone(id: ObjectId | null): boolean {
    return id !== null && this.#after.has(id);
  }

  /** Tells whether a commit stands on one that secrets were taken out of. Goes no further than to where that is told. */
  async isBeyond(objects: ObjectReader, thread: ThreadId, tip: ObjectId): Promise<boolean> {
    if (!this.records.has(thread) || this.isGone(tip)) return false;
    for (let at: ObjectId | undefined = tip; at !== undefined;) {
      if (this.isGone(at)) return true;
      [at] = (await readCommit(objects, at)).parents;
    }
    return false;
  }

  /** Takes what took the place of a commit for what follows it. */
  relating<Answer extends Relation | undefined>(
    relate: (one: ObjectId, other: ObjectId) => Promise<Answer>,
  ): (one: ObjectId, other: ObjectId) => Promise<Answer | Relation> {
    return async (one, other) => {
      for (const after of this.#allAfter(one))
        if (await isOnTheWay(relate, after, other)) return { kind: 'behind', by: 1 };
      for (const after of this.#allAfter(other))
        if (await isOnTheWay(relate, after, one)) return { kind: 'ahead', by: 1 };
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

  /** What took its place, and the place of that, and so on; the last first. */
  #allAfter(id: ObjectId): ObjectId[] {
    const found = new Set<ObjectId>();
    const waiting = [...(this.#after.get(id) ?? [])];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      waiting.push(...(this.#after.get(next) ?? []));
    }
    return [...found].toReversed();
  }
}

async function isOnTheWay(relate: Relate, one: ObjectId, other: ObjectId): Promise<boolean> {
  const kind = one === other ? 'same' : (await relate(one, other).catch(asNothing))?.kind;
  return kind === 'same' || kind === 'behind';
}

/** What it names may not be here. */
function asNothing(error: unknown): undefined {
  if (!(error instanceof UwfError) || error.kind !== 'data') throw error;
}
