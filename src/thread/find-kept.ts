import type { NodeHash } from '../cas/hash.ts';
import { repositoryNodes } from '../cas/lookup.ts';
import { getNode } from '../cas/node.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readCommit } from '../git/stores/read.ts';
import { payloadOf, typeNameOf } from '../schema/built-in.ts';
import { findStart, readChildEnds, readLightChain } from './thread-chain.ts';
import { readThreadCommit } from './thread-commit.ts';
import { assertDataError } from './thread-errors.ts';
import { DAY_MS, HISTORY_PREFIX, parseThreadId, type ThreadPointer, threadTimeMs, utcDate } from './thread-id.ts';

/** The shortest prefix to search for. The time in an id has ten characters; six give it to within 18 minutes. */
const MIN_PREFIX = 6;

/**
 * Finds ended child threads that have no ref here, by a prefix of their ids. Their commits came with those of their callers,
 * or their refs were removed.
 *
 * Searches only threads that were active at the time in the id.
 * @param pointers all threads that have a ref
 */
export async function findKept(
  repository: Repository,
  pointers: readonly ThreadPointer[],
  wanted: string,
): Promise<ThreadPointer[]> {
  if (wanted.length < MIN_PREFIX || !/^[0-7][0-9A-HJKMNP-TV-Z]{0,25}$/.test(wanted)) return [];
  const fromMs = threadTimeMs(parseThreadId(wanted.padEnd(26, '0')));
  const untilMs = threadTimeMs(parseThreadId(wanted.padEnd(26, 'Z')));
  const found = new Map<string, ThreadPointer>();
  const passed = new Set<ObjectId>();
  for (const keeper of pointers.toReversed()) {
    // Commits have whole seconds, so the time in a child's id can be the second of its caller's start.
    if (threadTimeMs(keeper.id) >= untilMs + 1000 || endedBefore(keeper, fromMs)) continue;
    try {
      // One object tells that most threads had their last commit before.
      if ((await readCommit(repository.objects, keeper.head)).committer.atMs < fromMs - 1000) continue;
      for await (const { id, head } of keptBehind(repository, keeper.head, fromMs, passed)) {
        if (!id.startsWith(wanted) || found.has(id)) continue;
        found.set(id, { id: parseThreadId(id), ref: keeper.ref, head, isHistory: true, keptBy: keeper.id });
        if (id === wanted) return [...found.values()];
      }
    } catch (error) {
      // A damaged thread is skipped.
      assertDataError(error);
    }
  }
  return [...found.values()];
}

/** Tells by the name of its ref whether a thread ended on a day before a time. */
function endedBefore({ ref, isHistory }: ThreadPointer, timeMs: number): boolean {
  const day = Date.parse(ref.slice(HISTORY_PREFIX.length).split('/')[0] ?? '');
  return isHistory && day + DAY_MS <= timeMs;
}

/** Yields the children that a thread took in after a time, with their own children. */
async function* keptBehind(
  repository: Repository,
  head: ObjectId,
  fromMs: number,
  passed: Set<ObjectId>,
): AsyncGenerator<{ id: string; head: ObjectId }, void, void> {
  for await (const commit of readLightChain(repository, head)) {
    if (passed.has(commit.id) || commit.commit.committer.atMs < fromMs - 1000) return;
    passed.add(commit.id);
    if (commit.kind !== 'step') continue;
    for (const end of await readChildEnds(repository, commit)) {
      const start = await findStart(repository, end.id);
      if (start) yield { id: start.node.id, head: end.id };
      yield* keptBehind(repository, end.id, fromMs, passed);
    }
  }
}

/**
 * Finds a thread by the hash of its start or end.
 * @param pointers all threads that have a ref
 * @returns none if it is the hash of another node, or no thread here has it
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
  // Forks share the start. The end tells which of them it is.
  const day = `${HISTORY_PREFIX}${utcDate(end.completedAtMs)}/`;
  for (const pointer of [...candidates, ...pointers.filter(({ ref }) => ref.startsWith(day))]) {
    if ((await readThreadCommit(repository, pointer.head)).hash === hash) return [pointer];
  }
  return [];
}
