import { describeThread } from '../engine/describe.ts';
import type { EngineContext } from '../engine/context.ts';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import { getThread, type ThreadPointer } from '../thread/find-thread.ts';
import { readStart } from '../thread/read-start.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { ThreadNeeded, type McpContext } from './mcp-tool.ts';

/** The server works for one thread, and was asked about another that this one has nothing to do with. */
export class ThreadOutOfReach extends UwfError {
  constructor(own: string, named: string, what: 'read' | 'put') {
    super(`'${named}' is not to be ${what === 'read' ? 'read' : 'put into'} from thread ${own}`, {
      code: 'thread-out-of-reach',
      kind: 'usage',
      hint:
        what === 'read'
          ? 'a turn reads its own thread, those that called it, and those that it called; thread_list lists them'
          : "a turn puts into its own thread: leave 'thread' out",
    });
  }
}

/**
 * The thread that a tool is to read: the one that its input names, or that the server works for.
 *
 * A server that works for a thread reads that, the threads that called it and those that it called. That there are others
 * it does not tell.
 * @throws {ThreadOutOfReach} {ThreadNeeded}
 */
export async function readableThread(context: McpContext, input: JsonObject): Promise<string> {
  const { repository, thread } = context;
  const named = typeof input['thread'] === 'string' ? input['thread'] : thread;
  if (named === undefined) throw new ThreadNeeded();
  if (thread === undefined) return named;
  const own = await getThread(repository, thread);
  const wanted = named === thread ? own : await findQuietly(repository, named);
  if (wanted !== undefined) {
    const isReadable =
      wanted.id === own.id || (await isCaller(repository, wanted, own)) || (await isCaller(repository, own, wanted));
    if (isReadable) return wanted.id;
  }
  throw new ThreadOutOfReach(own.id, named, 'read');
}

/**
 * The thread that a tool is to put something into. A server that works for a thread puts into no other.
 * @throws {ThreadOutOfReach} {ThreadNeeded}
 */
export async function writableThread(context: McpContext, input: JsonObject): Promise<string> {
  const { repository, thread } = context;
  const named = typeof input['thread'] === 'string' ? input['thread'] : thread;
  if (named === undefined) throw new ThreadNeeded();
  if (thread === undefined || named === thread) return named;
  const own = await getThread(repository, thread);
  if ((await findQuietly(repository, named))?.id !== own.id) throw new ThreadOutOfReach(own.id, named, 'put');
  return own.id;
}

/** The threads that a server lists; undefined: all. */
export async function readableThreads(
  { repository, thread }: McpContext,
  reading: EngineContext,
): Promise<ReadonlySet<ThreadId> | undefined> {
  if (thread === undefined) return undefined;
  const own = await getThread(repository, thread);
  const { children } = await describeThread(reading, own.id);
  const ids = new Set<ThreadId>([own.id, ...children]);
  for await (const caller of callersOf(repository, own.head)) ids.add(caller.id);
  return ids;
}

/** Tells whether a thread called another, or called one that did. */
async function isCaller(repository: Repository, caller: ThreadPointer, of: ThreadPointer): Promise<boolean> {
  for await (const { id } of callersOf(repository, of.head)) if (id === caller.id) return true;
  return false;
}

/** The threads above the one that a commit is of, the nearest first. */
async function* callersOf(repository: Repository, head: ObjectId): AsyncGenerator<ThreadPointer, void, void> {
  let start = await readStart(repository, head);
  for (;;) {
    const calledAt = start?.commit.parents[0];
    const above = calledAt === undefined ? undefined : await readStart(repository, calledAt);
    if (start === undefined || above === undefined) return;
    const caller = await findQuietly(repository, start.node.call?.thread ?? above.node.id);
    // What a thread says of its caller is held against the commit that it began at.
    if (caller !== undefined && (await readStart(repository, caller.head))?.id === above.id) yield caller;
    start = above;
  }
}

/** A thread by its id or a prefix of it; undefined also where several begin so, which is not told. */
async function findQuietly(repository: Repository, named: string): Promise<ThreadPointer | undefined> {
  try {
    return await getThread(repository, named);
  } catch (error) {
    if (error instanceof UwfError) return undefined;
    throw error;
  }
}
