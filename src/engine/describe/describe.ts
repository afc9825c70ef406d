import { iso } from '../../iso.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { hintToResume } from '../../thread/hint-to-go-on.ts';
import { isShortOfFiles } from '../../git/format/object-errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { BrokenPackedRefs } from '../../git/format/ref-errors.ts';
import type { Repository } from '../../git/repository.ts';
import { findThread, getThread, type ThreadPointer } from '../../thread/find/find-thread.ts';
import { NewerFormat } from '../../thread/thread-errors.ts';
import type { SuspensionOutline } from '../../thread/read/read-suspension.ts';
import { threadTimeMs, type ThreadId } from '../../thread/thread-id.ts';
import { isOver, statusOfHead, type ThreadStatus } from '../../thread/read/thread-status.ts';
import type { SuspendCause } from '../../schema/built-in/thread-suspend.ts';
import type { EngineContext } from '../engine-context.ts';
import { describeChildren, waitingChild, type ChildView } from './describe-children.ts';
import { findFacts, type ThreadFacts, type ThreadUsage } from './facts.ts';
import { checked, RememberedThreads, type ListedFacts } from './listed-facts.ts';
import { findLease, statusHere } from '../leases/find-lease.ts';
import { findKeptTurn } from '../recovery/kept-path.ts';
import { findInterruption, type Interruption } from '../recovery/interruption.ts';
import { newestFirst } from './newest-first.ts';
import { FOUND_CORRUPT, listCorrupt } from '../../verify/remembered-verdicts.ts';

/** A thread in a list. */
export type ThreadSummary = {
  thread: ThreadId;
  status: ThreadStatus;
  /** The workflow's name. */
  workflow: string;
  /** ISO 8601, UTC. */
  startedAt: string;
  /** Null where its ref is damaged. */
  head: ObjectId | null;
  endedAt: string | null;
  /** The beginning of the user's prompt, one line. */
  prompt: string;
  steps: number;
  /** The role that the moderator gives the next turn, or that waits for an answer; null for a thread that is over. */
  nextRole: string | null;
  /** What is left of the run whose process ended before it; null for a thread that is not interrupted. */
  interruption: Interruption | null;
  /** Why it is suspended, or how it ended. */
  reason: string | null;
  /** What suspended it; null for a thread that is not suspended. */
  cause: SuspendCause | null;
};

/** A thread by itself. */
export type ThreadView = ThreadSummary & {
  head: ObjectId;
  /** The definition it runs. */
  workflowHash: NodeHash;
  /** The thread that called it; null for one that a person started. */
  parent: ThreadId | null;
  /** Where the caller stood then: its last step, or its start. */
  parentState: NodeHash | null;
  children: ThreadId[];
  /** What the children came to. */
  calls: ChildView[];
  /** How many threads are above it. */
  depth: number;
  /** Of a thread that waits for a child: what the child waits for. */
  reason: string | null;
  /** What the turn came to that waits; null for a thread that is not suspended. */
  suspension: SuspensionOutline | null;
  /** The thread whose question it is, where that is a child of it or one below. Resuming this thread answers it. */
  waitsFor: ThreadId | null;
  returnCode: number | null;
  /** The file of a finished turn that could not be stored, and that the next run stores; null where there is none. */
  kept: string | null;
  /** The process that works on it. */
  holder: { pid: number; host: string; since: string } | null;
} & ThreadUsage;

export type ListOptions = {
  /** Which statuses; default: all that are not over. */
  statuses?: readonly ThreadStatus[] | undefined;
  workflow?: string | undefined;
  /** Only threads in which this role is next, or waits for an answer. */
  role?: string | undefined;
  /** Only threads whose prompt has this text, in whatever case. */
  text?: string | undefined;
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  /** Only threads that were over before then. */
  endedBeforeMs?: number | undefined;
  /** Only threads that ended since then. */
  endedSinceMs?: number | undefined;
  limit?: number | undefined;
  /** Only these threads. */
  among?: ReadonlySet<ThreadId> | undefined;
  /** Only threads that stand behind this one in the list. */
  cursor?: ThreadId | undefined;
  /** Is told of a file of packed refs that is damaged: what can be read is listed then; default: it is raised. */
  onDamaged?: ((damage: BrokenPackedRefs) => void) | undefined;
};

/** Describes one thread; see `Engine.describe`. */
export async function describeThread(engine: EngineContext, idOrPrefix: string): Promise<ThreadView> {
  const pointer = await getThread(engine.repository, idOrPrefix);
  const facts = await factsOf(engine, pointer, listCorrupt(engine.repository));
  const lease = findLease(engine.repository, pointer.id);
  const summary = summarize(engine.repository, pointer, facts);
  const calls = await describeChildren(engine, pointer.id, facts);
  const waiting = waitingChild(facts, calls);
  const below = waiting === undefined ? undefined : await describeThread(engine, waiting);
  return {
    ...summary,
    head: pointer.head,
    workflowHash: facts.workflowHash,
    parent: await parentOf(engine, facts),
    parentState: facts.parentState,
    children: calls.map(({ thread }) => thread),
    calls,
    depth: facts.depth,
    reason: below?.reason ?? facts.reason,
    waitsFor: below?.waitsFor ?? waiting ?? null,
    suspension: facts.status === 'suspended' ? await readSuspension(engine.repository, pointer.head) : null,
    returnCode: facts.returnCode,
    kept: findKeptTurn(engine.repository, pointer.id) ?? null,
    usage: facts.usage,
    usageByRole: facts.usageByRole,
    holder: lease ? { pid: lease.holder.pid, host: lease.holder.host, since: iso(lease.sinceMs) } : null,
  };
}

/** The cached facts of a head have no texts, because texts have no bounds. */
async function readSuspension(repository: Repository, head: ObjectId): Promise<SuspensionOutline | null> {
  const { readThreadCommit } = await import('../../thread/format/thread-commit.ts');
  const { outlineSuspension } = await import('../../thread/read/read-suspension.ts');
  const commit = await readThreadCommit(repository, head);
  return commit.kind === 'suspend' ? outlineSuspension(repository, commit) : null;
}

/** The fork that called a thread, where it is known and still there, else the thread that it was a fork of. */
async function parentOf({ repository }: EngineContext, { parent, caller }: ThreadFacts): Promise<ThreadId | null> {
  if (caller === null || caller === parent) return parent;
  return (await findThread(repository, caller))?.id ?? parent;
}

/**
 * Lists threads, newest first. A list of all has the suspended ones, which wait for a person, before the others; a piece
 * of it (`limit`, `cursor`) is in order of age alone, and costs what it shows.
 */
export async function listThreads(engine: EngineContext, options: ListOptions = {}): Promise<ThreadSummary[]> {
  const { statuses, sinceMs = 0, untilMs = Number.POSITIVE_INFINITY, limit, cursor } = options;
  const isPiece = limit !== undefined || cursor !== undefined;
  const found: ThreadSummary[] = [];
  const corrupt = listCorrupt(engine.repository);
  const remembered = new RememberedThreads(engine.repository);
  if (limit === 0) return found;
  for await (const pointer of newestFirst(engine.repository, options)) {
    const timeMs = threadTimeMs(pointer.id);
    if (timeMs < sinceMs) break;
    if (options.among?.has(pointer.id) === false) continue;
    if (timeMs > untilMs || (cursor !== undefined && pointer.id >= cursor)) continue;
    const isDamaged = 'damage' in pointer;
    if (!isDamaged && !(await mayHaveStatus(engine, pointer, statuses, remembered))) continue;
    const summary = isDamaged
      ? unreadable(pointer.id, null, pointer.damage)
      : await summaryOf(engine, pointer, corrupt, remembered);
    const isWanted = statuses ? statuses.includes(summary.status) : !isOver(summary.status);
    if (isWanted && (await isLike(engine.repository, summary, options))) found.push(summary);
    if (found.length === limit) break;
  }
  remembered.save();
  if (isPiece) return found;
  const waiting = found.filter((summary) => summary.status === 'suspended');
  const others = found.filter((summary) => summary.status !== 'suspended');
  return [...waiting, ...others];
}

/** Tells by its head alone whether a thread can have one of some statuses: reading the whole of it takes much longer. */
async function mayHaveStatus(
  { repository }: EngineContext,
  pointer: ThreadPointer,
  statuses: readonly ThreadStatus[] | undefined,
  remembered: RememberedThreads,
): Promise<boolean> {
  // A thread can be corrupt behind a sound head.
  if (statuses === undefined || statuses.includes('newer') || statuses.includes('corrupt') || remembered.find(pointer))
    return true;
  const { readThreadCommit } = await import('../../thread/format/thread-commit.ts');
  try {
    return statuses.includes(
      statusHere(repository, pointer.id, statusOfHead(await readThreadCommit(repository, pointer.head))),
    );
  } catch {
    return false;
  }
}

async function isLike(repository: Repository, summary: ThreadSummary, wanted: ListOptions): Promise<boolean> {
  const { workflow, role, text, endedBeforeMs = Infinity, endedSinceMs = -Infinity } = wanted;
  if (workflow !== undefined && summary.workflow !== workflow) return false;
  if (role !== undefined && summary.nextRole !== role) return false;
  if (wanted.endedBeforeMs !== undefined || wanted.endedSinceMs !== undefined) {
    const endedMs = summary.endedAt === null ? Number.NaN : Date.parse(summary.endedAt);
    if (!(endedMs >= endedSinceMs && endedMs < endedBeforeMs)) return false;
  }
  if (text === undefined || hasText(summary.prompt, text)) return true;
  // Only its first line is remembered; the rest is read where it may matter.
  const { readThreadPrompt } = await import('../../thread/read/read-start.ts');
  return summary.head !== null && hasText((await readThreadPrompt(repository, summary.head)) ?? '', text);
}

function hasText(prompt: string, text: string): boolean {
  return prompt.toLowerCase().includes(text.toLowerCase());
}

/** A thread as a list has it, also where it cannot be read. */
export async function summaryOf(
  engine: EngineContext,
  pointer: ThreadPointer,
  corrupt: ReadonlySet<string>,
  remembered: RememberedThreads = new RememberedThreads(engine.repository),
): Promise<ThreadSummary> {
  try {
    const facts = await checked(
      engine,
      pointer,
      corrupt,
      remembered.find(pointer) ?? (() => remembered.gather(engine, pointer)),
    );
    return summarize(engine.repository, pointer, facts);
  } catch (error) {
    if (isShortOfFiles(error)) throw error;
    return unreadable(pointer.id, pointer.head, error);
  }
}

/** A thread that cannot be read is listed too, so that it is found. */
function unreadable(thread: ThreadId, head: ObjectId | null, error: unknown): ThreadSummary {
  return {
    thread,
    status: error instanceof NewerFormat ? 'newer' : 'corrupt',
    workflow: '',
    startedAt: new Date(threadTimeMs(thread)).toISOString(),
    head,
    endedAt: null,
    prompt: '',
    steps: 0,
    nextRole: null,
    interruption: null,
    reason: error instanceof Error ? error.message : null,
    cause: null,
  };
}

/** What this machine remembers of the head, or what the chain says, which is then remembered. */
async function factsOf(
  engine: EngineContext,
  pointer: ThreadPointer,
  corrupt: ReadonlySet<string>,
): Promise<ThreadFacts> {
  const known = findFacts(engine.repository, pointer.id, pointer.head);
  // Reading and deciding load much more than showing what is known.
  return checked(
    engine,
    pointer,
    corrupt,
    known ?? (async () => (await import('./gather-facts.ts')).gatherFacts(engine, pointer)),
  );
}

function summarize(repository: Repository, pointer: ThreadPointer, facts: ListedFacts): ThreadSummary {
  const status = statusHere(repository, pointer.id, facts.status);
  return {
    thread: pointer.id,
    status,
    workflow: facts.workflow,
    startedAt: iso(facts.startedAtMs),
    head: pointer.head,
    endedAt: facts.endedAtMs === null ? null : iso(facts.endedAtMs),
    prompt: facts.prompt,
    steps: facts.steps,
    nextRole: facts.nextRole,
    interruption: status === 'interrupted' ? findInterruption(repository, pointer.id) : null,
    reason: facts.status === 'corrupt' ? FOUND_CORRUPT : facts.reason,
    cause: facts.cause,
  };
}

/** Says which command lets a suspended thread go on; where a child thread of it waits, by what that waits for. */
export async function hintToAnswer(
  engine: EngineContext,
  { thread, waitsFor, suspension }: ThreadView,
): Promise<string | undefined> {
  const asking = waitsFor === null ? suspension : (await describeThread(engine, waitsFor)).suspension;
  return asking === null ? undefined : hintToResume(thread, asking);
}
