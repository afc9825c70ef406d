import { repositoryNodes } from '../cas/lookup/repository-nodes.ts';
import { getNode } from '../cas/node-source.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/object-id.ts';
import { UwfError } from '../errors.ts';
import { readCommit } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import { typeNameOf } from '../schema/built-in.ts';
import { payloadOf } from '../schema/payload-of.ts';
import { readChildEnds } from './child-ends.ts';
import type { ThreadPointer } from './thread-pointer.ts';
import { readStart } from './read-start.ts';
import { readThreadCommit } from './thread-commit.ts';
import { parseThreadId, threadTimeMs } from './thread-id.ts';
import { HISTORY_PREFIX } from './thread-refs.ts';
import { readToldChain } from './told-chain.ts';

/** An id's time has ten characters; this many of them leave a quarter of an hour. */
const SHORTEST = 6;
const DAY_MS = 86_400_000;

/**
 * Finds child threads that have no ref here and whose ends steps took in, by the first characters of their ids: their commits
 * came with those of their callers, or their refs were removed.
 *
 * Only threads that were at work at the time in the id are looked at.
 * @param pointers all threads that have a ref
 */
export async function findKept(
  repository: Repository,
  pointers: readonly ThreadPointer[],
  wanted: string,
): Promise<ThreadPointer[]> {
  if (wanted.length < SHORTEST || !/^[0-7][0-9A-HJKMNP-TV-Z]{0,25}$/.test(wanted)) return [];
  const fromMs = threadTimeMs(parseThreadId(wanted.padEnd(26, '0')));
  const untilMs = threadTimeMs(parseThreadId(wanted.padEnd(26, 'Z')));
  const found = new Map<string, ThreadPointer>();
  const passed = new Set<ObjectId>();
  for (const keeper of pointers.toReversed()) {
    // A child of an early moment can have the second of its caller's start for its time.
    if (threadTimeMs(keeper.id) >= untilMs + 1000 || endedBefore(keeper, fromMs)) continue;
    try {
      // Most were at rest by then, which one object tells.
      if ((await readCommit(repository.objects, keeper.head)).committer.atMs < fromMs - 1000) continue;
      for await (const { id, head } of keptBehind(repository, keeper.head, fromMs, passed)) {
        if (!id.startsWith(wanted) || found.has(id)) continue;
        found.set(id, { id: parseThreadId(id), ref: keeper.ref, head, isHistory: true, keptBy: keeper.id });
        if (id === wanted) return [...found.values()];
      }
    } catch (error) {
      // What is behind damage cannot be found; other threads can.
      if (!(error instanceof UwfError) || error.kind !== 'data') throw error;
    }
  }
  return [...found.values()];
}

/** Tells by the name of its ref whether a thread had ended on a day before a moment. */
function endedBefore({ ref, isHistory }: ThreadPointer, timeMs: number): boolean {
  const day = Date.parse(ref.slice(HISTORY_PREFIX.length).split('/')[0] ?? '');
  return isHistory && day + DAY_MS <= timeMs;
}

/** Gives the children that a thread took in after a moment, and those that these took in. */
async function* keptBehind(
  repository: Repository,
  head: ObjectId,
  fromMs: number,
  passed: Set<ObjectId>,
): AsyncGenerator<{ id: string; head: ObjectId }, void, void> {
  for await (const commit of readToldChain(repository, head)) {
    if (passed.has(commit.id) || commit.commit.committer.atMs < fromMs - 1000) return;
    passed.add(commit.id);
    if (commit.kind !== 'step') continue;
    for (const end of await readChildEnds(repository, commit)) {
      const start = await readStart(repository, end.id);
      if (start) yield { id: start.node.id, head: end.id };
      yield* keptBehind(repository, end.id, fromMs, passed);
    }
  }
}

/**
 * Finds the thread that a start begins or an end is the end of, by the node's hash.
 *
 * @param pointers all threads that have a ref
 * @returns none if the hash is that of another node, or no thread here has it
 */
export async function findByNode(
  repository: Repository,
  pointers: readonly ThreadPointer[],
  hash: NodeHash,
): Promise<ThreadPointer[]> {
  const nodes = repositoryNodes(repository);
  const node = await nodes.find(hash);
  const kind = node && typeNameOf(node.type);
  if (node === undefined || (kind !== 'thread-start' && kind !== 'thread-end')) return [];
  const end = kind === 'thread-end' ? payloadOf(node, 'thread-end') : undefined;
  const { id: born } = payloadOf(end ? await getNode(nodes, end.start) : node, 'thread-start');
  const own = pointers.filter(({ id }) => id === born);
  const candidates = own.length > 0 ? own : await findKept(repository, pointers, born);
  if (end === undefined) return candidates;
  // Of forks, which share the start, it is the one that ended so.
  const day = `${HISTORY_PREFIX}${new Date(end.completedAtMs).toISOString().slice(0, 10)}/`;
  for (const pointer of [...candidates, ...pointers.filter(({ ref }) => ref.startsWith(day))]) {
    if ((await readThreadCommit(repository, pointer.head)).hash === hash) return [pointer];
  }
  return [];
}
