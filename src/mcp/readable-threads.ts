import { describeThread } from '../engine/describe/describe.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import { getThread } from '../thread/find-thread.ts';
import type { ThreadId, ThreadPointer } from '../thread/thread-id.ts';
import { findStart } from '../thread/thread-chain.ts';
import { textInput, type McpScope } from './mcp-tool.ts';
import { inPlaceOf } from '../or-else.ts';
import { callerCommit } from '../thread/thread-state.ts';

/**
 * The thread that a tool is to read, or to put something into: the one that its input names, or that the server works for.
 *
 * A server that works for a thread reads that, the threads that called it and those that it called; of others it tells
 * nothing. It puts into its own thread only.
 * @throws {UwfError} if no thread is meant, or one that is out of reach
 */
export async function threadIn(scope: McpScope, input: JsonObject, use: 'read' | 'put'): Promise<string> {
  const { repository, thread } = scope;
  const named = textInput(input, 'thread') ?? thread;
  if (named === undefined) {
    const hint = "give 'thread', an id that thread_list lists";
    throw new UwfError('no thread was named, and no role works here', { code: 'thread-needed', kind: 'usage', hint });
  }
  if (thread === undefined) return named;
  const own = await getThread(repository, thread);
  const wanted = named === thread ? own : await getThread(repository, named).catch(noThread);
  if (wanted?.id === own.id) return own.id;
  if (use === 'read' && wanted !== undefined) {
    if ((await isCaller(repository, wanted, own)) || (await isCaller(repository, own, wanted))) return wanted.id;
  }
  const [what, hint] =
    use === 'read'
      ? ['read', 'a turn reads its own thread, those that called it, and those that it called; thread_list lists them']
      : ['put into', "a turn puts into its own thread: leave 'thread' out"];
  const message = `'${named}' is not to be ${what} from thread ${own.id}`;
  throw new UwfError(message, { code: 'thread-out-of-reach', kind: 'usage', hint });
}

/** The threads that a server lists; undefined: all. */
export async function readableThreads(
  { repository, thread }: McpScope,
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
  let start = await findStart(repository, head);
  for (;;) {
    const calledAt = start && callerCommit(start);
    const above = calledAt === undefined ? undefined : await findStart(repository, calledAt);
    if (start === undefined || above === undefined) return;
    const caller = await getThread(repository, start.node.call?.thread ?? above.node.id).catch(noThread);
    // What a thread says of its caller is held against the commit that it began at.
    if (caller !== undefined && (await findStart(repository, caller.head))?.id === above.id) yield caller;
    start = above;
  }
}

/** In place of an error there is no thread: also where several ids begin so, which is not told. */
const noThread = inPlaceOf(UwfError, undefined);
