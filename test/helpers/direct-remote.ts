import { setImmediate as aMoment } from 'node:timers/promises';
import { parseCommit, parseTree } from '../../src/git/format/objects.ts';
import type { GitObject, ObjectId } from '../../src/git/format/object-id.ts';
import { leadsTo } from '../../src/sync/reconcile-thread.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import { type RefEdit, RefMoved, type Repository } from '../../src/git/repository.ts';
import type {
  FetchRequest,
  IncomingObjects,
  PushRequest,
  PushResult,
  Remote,
  RemoteRef,
} from '../../src/git/transport/remote.ts';

type Stores = Pick<Repository, 'objects' | 'refs'>;

/**
 * Another repository of this process as a remote. Transfers are in memory, so that thousands of them start no process. It
 * passes the suite of `test/contracts/remote.ts`.
 */
export class DirectRemote implements Remote {
  readonly name: string;
  readonly url = 'memory:';
  readonly isConfigured: boolean;
  readonly #here: Stores;
  readonly there: Stores;

  constructor(here: Stores, there: Stores, name = 'origin', isConfigured = true) {
    this.#here = here;
    this.there = there;
    this.name = name;
    this.isConfigured = isConfigured;
  }

  async list(patterns: readonly string[]): Promise<RemoteRef[]> {
    // Other tasks run meanwhile, as during a transfer.
    await aMoment();
    const refs = await this.there.refs.list('refs/');
    return refs.filter(({ name }) => patterns.some((pattern) => matches(name, pattern)));
  }

  async fetch({ refs, ids, except = [] }: FetchRequest): Promise<IncomingObjects> {
    const found = (await this.list(refs)).filter(({ name }) => !except.some((pattern) => matches(name, pattern)));
    const wanted = ids ?? found.map(({ id }) => id);
    const brought = await missing(this.#here, this.there, wanted);
    await aMoment();
    return {
      refs: found,
      objects: {
        read: async (id, options) => brought.get(id) ?? this.#here.objects.read(id, options),
        has: async (id) => brought.has(id) || this.#here.objects.has(id),
      },
      accept: async (tips) => {
        const objects = { ...this.there.objects, read: async (id: ObjectId) => brought.get(id) };
        const taken = await missing(this.#here, { ...this.there, objects }, tips);
        return this.#here.objects.write([...taken.values()]);
      },
      discard: async () => brought.clear(),
    };
  }

  async push({ edits }: PushRequest): Promise<PushResult[]> {
    await aMoment();
    const refs = new Map((await this.there.refs.list('refs/')).map(({ name, id }) => [name, id]));
    const results: PushResult[] = [];
    const changes: RefEdit[] = [];
    for (const { name, value, expected } of edits) {
      const actual = refs.get(name) ?? null;
      const isBehind = value === null || actual === null || (await this.#isBehind(actual, value));
      const isExpected = expected === undefined ? value !== null && isBehind : actual === expected;
      if (actual === value) results.push({ name, outcome: 'unchanged' });
      else if (!isExpected) results.push({ name, outcome: 'moved', reason: 'stale info' });
      else results.push({ name, outcome: 'done' });
      if (actual !== value && isExpected) changes.push({ name, expected: actual, value });
    }
    if (results.some(({ outcome }) => outcome === 'moved')) return results.map(undone);
    const tips = changes.flatMap(({ value }) => (value === null ? [] : [value]));
    const sent = await missing(this.there, this.#here, tips);
    const written = await this.there.objects.write([...sent.values()]);
    try {
      await this.there.refs.update(changes);
      return results;
    } catch (error) {
      if (!(error instanceof RefMoved)) throw error;
      return results.map(({ name }) => ({ name, outcome: 'moved', reason: 'changed meanwhile' }));
    } finally {
      await written.release();
    }
  }

  async #isBehind(theirs: ObjectId, ours: ObjectId): Promise<boolean> {
    return (await this.#here.objects.has(theirs)) && leadsTo(this.#here.objects, ours, theirs);
  }
}

function undone(result: PushResult): PushResult {
  return result.outcome === 'done' ? { name: result.name, outcome: 'undone', reason: 'atomic push failed' } : result;
}

function matches(name: string, pattern: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === parseRefName(pattern);
}

/** The objects that tips reach in one repository and another one lacks. */
async function missing(to: Stores, from: Stores, tips: readonly ObjectId[]): Promise<Map<ObjectId, GitObject>> {
  const found = new Map<ObjectId, GitObject>();
  const waiting = [...tips];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (found.has(id) || (await to.objects.has(id))) continue;
    const object = await from.objects.read(id);
    if (object === undefined) throw new Error(`the sender does not have ${id}`);
    found.set(id, object);
    if (object.type === 'commit') {
      const { tree, parents } = parseCommit(object.data);
      waiting.push(tree, ...parents);
    } else if (object.type === 'tree') {
      waiting.push(...parseTree(object.data).flatMap((entry) => (entry.mode === '160000' ? [] : [entry.id])));
    }
  }
  return found;
}
