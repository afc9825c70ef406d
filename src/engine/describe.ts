import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { getThread, listPointers, type ThreadPointer } from '../thread/find-thread.ts';
import { threadTimeMs, type ThreadId } from '../thread/thread-id.ts';
import { isOver, type ThreadStatus } from '../thread/thread-status.ts';
import type { EngineContext } from './context.ts';
import { findFacts, type ThreadFacts } from './facts.ts';
import { findLease, findLeaseRecord } from './find-lease.ts';
import type { ThreadUsage } from './sum-usage.ts';

/** A thread in a list. */
export type ThreadSummary = {
  thread: ThreadId;
  status: ThreadStatus;
  /** The workflow's name. */
  workflow: string;
  /** ISO 8601, UTC. */
  startedAt: string;
  head: ObjectId;
  endedAt: string | null;
  /** The beginning of the user's prompt, one line. */
  prompt: string;
  steps: number;
  /** Who is next, as the moderator says, or who waits for an answer; null for a thread that is over. */
  nextRole: string | null;
};

/** A thread by itself. */
export type ThreadView = ThreadSummary & {
  /** The definition it runs. */
  workflowHash: NodeHash;
  parent: ThreadId | null;
  children: ThreadId[];
  depth: number;
  /** Why it is suspended, or how it ended. */
  reason: string | null;
  returnCode: number | null;
  /** Who works on it. */
  holder: { pid: number; host: string; since: string } | null;
} & ThreadUsage;

export type ListOptions = {
  /** Which statuses; default: all that are not over. */
  statuses?: readonly ThreadStatus[];
  workflow?: string;
  /** Only threads in which this role is next, or waits for an answer. */
  role?: string;
  /** Only threads whose prompt has this text, in whatever case. */
  text?: string;
  sinceMs?: number;
  untilMs?: number;
  /** Only threads that were over before then. */
  endedBeforeMs?: number;
  limit?: number;
  /** Only threads that stand behind this one in the list. */
  cursor?: ThreadId;
};

/** Describes one thread; see `Engine.describe`. */
export async function describeThread(context: EngineContext, idOrPrefix: string): Promise<ThreadView> {
  const pointer = await getThread(context.repository, idOrPrefix);
  const facts = await factsOf(context, pointer);
  const lease = findLease(context.repository, pointer.id);
  const summary = summarize(pointer, facts, lease !== undefined);
  const children = isOver(summary.status) ? facts.children : await childrenOf(context, facts);
  return {
    ...summary,
    workflowHash: facts.workflowHash,
    parent: facts.parent,
    children,
    depth: facts.depth,
    reason: facts.reason,
    returnCode: facts.returnCode,
    usage: facts.usage,
    usageByRole: facts.usageByRole,
    holder: lease
      ? { pid: lease.holder.pid, host: lease.holder.host, since: new Date(lease.sinceMs).toISOString() }
      : null,
  };
}

/** Lists threads, newest first; the suspended ones, which wait for a person, before the others. */
export async function listThreads(context: EngineContext, options: ListOptions = {}): Promise<ThreadSummary[]> {
  const { statuses, sinceMs = 0, untilMs = Number.POSITIVE_INFINITY, limit, cursor } = options;
  const wantsHistory = statuses?.some(isOver) ?? false;
  const pointers = wantsHistory ? await listPointers(context.repository) : await listActive(context.repository);
  const found: ThreadSummary[] = [];
  for (const pointer of pointers.toReversed()) {
    const timeMs = threadTimeMs(pointer.id);
    if (timeMs < sinceMs || timeMs > untilMs) continue;
    const summary = await summaryOf(context, pointer);
    const isWanted = statuses ? statuses.includes(summary.status) : !isOver(summary.status);
    if (isWanted && (await isLike(context.repository, summary, options))) found.push(summary);
    // Among threads of one status the newest come first: what follows cannot be among them.
    if (limit !== undefined && cursor === undefined && statuses?.length === 1 && found.length >= limit) break;
  }
  const waiting = found.filter((summary) => summary.status === 'suspended');
  const others = found.filter((summary) => summary.status !== 'suspended');
  return after([...waiting, ...others], cursor).slice(0, limit);
}

async function isLike(repository: Repository, summary: ThreadSummary, wanted: ListOptions): Promise<boolean> {
  const { workflow, role, text, endedBeforeMs } = wanted;
  if (workflow !== undefined && summary.workflow !== workflow) return false;
  if (role !== undefined && summary.nextRole !== role) return false;
  if (endedBeforeMs !== undefined && !(summary.endedAt !== null && Date.parse(summary.endedAt) < endedBeforeMs)) {
    return false;
  }
  if (text === undefined || hasText(summary.prompt, text)) return true;
  // Only its first line is remembered; the rest is read where it may matter.
  const { readPrompt } = await import('../thread/read-prompt.ts');
  return hasText((await readPrompt(repository, summary.head)) ?? '', text);
}

function hasText(prompt: string, text: string): boolean {
  return prompt.toLowerCase().includes(text.toLowerCase());
}

/** What stands behind a thread in a list; behind its place by age, if it has changed so that it is listed no more. */
function after(threads: readonly ThreadSummary[], cursor: ThreadId | undefined): readonly ThreadSummary[] {
  if (cursor === undefined) return threads;
  const place = threads.findIndex(({ thread }) => thread === cursor);
  return place === -1 ? threads.filter(({ thread }) => thread < cursor) : threads.slice(place + 1);
}

/**
 * The threads under `refs/threads/` that have not ended.
 *
 * An ending that a crash cut in two has left the thread there as well. It happens under a lease, which is then left too:
 * only where there is such a lease are the names of the history read.
 */
async function listActive(repository: Repository): Promise<ThreadPointer[]> {
  const pointers = await listPointers(repository, { active: true });
  const isCrashed = pointers.some(({ id }) => findLeaseRecord(repository, id) && !findLease(repository, id));
  if (!isCrashed) return pointers;
  const ended = new Set((await listPointers(repository, { history: true })).map(({ id }) => id));
  return pointers.filter(({ id }) => !ended.has(id));
}

async function summaryOf(context: EngineContext, pointer: ThreadPointer): Promise<ThreadSummary> {
  const isRunning = findLease(context.repository, pointer.id) !== undefined;
  try {
    return summarize(pointer, await factsOf(context, pointer), isRunning);
  } catch {
    // What cannot be read is listed too, or nobody would find it.
    return {
      thread: pointer.id,
      status: 'corrupt',
      workflow: '',
      startedAt: new Date(threadTimeMs(pointer.id)).toISOString(),
      head: pointer.head,
      endedAt: null,
      prompt: '',
      steps: 0,
      nextRole: null,
    };
  }
}

async function childrenOf(context: EngineContext, facts: ThreadFacts): Promise<ThreadId[]> {
  const { findChildren } = await import('../thread/find-children.ts');
  const children = await findChildren(context.repository, facts.startHash, facts.startedAtMs);
  return children.map((child) => child.pointer.id);
}

/** What this machine remembers of the head, or what the chain says, which is then remembered. */
async function factsOf(context: EngineContext, pointer: ThreadPointer): Promise<ThreadFacts> {
  const known = findFacts(context.repository, pointer.id, pointer.head);
  if (known) return known;
  // Reading and deciding load much more than showing what is known.
  const { gatherFacts } = await import('./gather-facts.ts');
  return gatherFacts(context, pointer);
}

function summarize(pointer: ThreadPointer, facts: ThreadFacts, isRunning: boolean): ThreadSummary {
  const isIdle = facts.status === 'idle' || facts.status === 'suspended';
  return {
    thread: pointer.id,
    status: isIdle && isRunning ? 'running' : facts.status,
    workflow: facts.workflow,
    startedAt: new Date(facts.startedAtMs).toISOString(),
    head: pointer.head,
    endedAt: facts.endedAtMs === null ? null : new Date(facts.endedAtMs).toISOString(),
    prompt: facts.prompt,
    steps: facts.steps,
    nextRole: facts.nextRole,
  };
}
