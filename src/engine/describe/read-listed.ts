import type { ObjectId } from '../../git/format/object-id.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
import { firstLine, lineOfOutput } from '../../thread/commit-message.ts';
import { type LightCommit, type LightStart, readLightCommit, readReply, startOf } from '../../thread/thread-chain.ts';
import type { ThreadCommit } from '../../thread/thread-commit.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import {
  type CommitOf,
  statusOfHead,
  stepsUpTo,
  type ThreadState,
  type ThreadStatus,
} from '../../thread/thread-state.ts';
import { iso } from '../../time/clock.ts';
import type { Reading } from '../engine-context.ts';
import type { Interruption } from '../recovery/turn-log.ts';
import { findNextRole, workflowNameOf } from './gather-facts.ts';

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
  /** Where the reason is the output of a program, the last line of it that says something; else null. */
  summary: string | null;
  /** What suspended it; null for a thread that is not suspended. */
  cause: SuspendCause | null;
};

/** A thread as its head tells it, and true of that head for ever: whether a process runs it is looked up every time. */
export type ListedThread = ThreadSummary & { interruption: null };

/**
 * Reads what a list says of a thread: its head, its start, and of the steps between them what its rules look at. Damage between the
 * start and the head shows only in what is read.
 * @param mayBe tells by the status that the head gives whether the rest is wanted
 */
export async function readListed(
  engine: Reading,
  { id, head: from }: ThreadPointer,
  mayBe: (status: ThreadStatus) => boolean,
): Promise<ListedThread | undefined> {
  const head = await readLightCommit(engine.repository, from);
  if (!mayBe(statusOfHead(head))) return undefined;
  const start = await startOf(engine.repository, head);
  return listedOf(engine, { id, head, start, prompt: await readReply(engine.repository, start) });
}

type Place = { id: ThreadId; head: LightCommit | ThreadCommit; start: LightStart | CommitOf<'start'>; prompt: string };

/**
 * What a list says of a thread whose commits were read.
 * @param state the thread, where it was read as a whole
 */
export async function listedOf(
  engine: Reading,
  { id, head, start, prompt }: Place,
  state?: ThreadState,
): Promise<ListedThread> {
  const said = head.kind === 'end' ? await readReply(engine.repository, head) : null;
  return {
    thread: id,
    status: statusOfHead(head),
    workflow: await workflowNameOf(engine.repository, start),
    startedAt: iso(start.node.startedAtMs),
    head: head.id,
    endedAt: head.kind === 'end' ? iso(head.node.completedAtMs) : null,
    prompt: firstLine(prompt),
    steps: stepsUpTo(head),
    nextRole: head.kind === 'suspend' ? head.node.role : await findNextRole(engine, { id, head }, state),
    interruption: null,
    reason: head.kind === 'suspend' ? head.node.reason : said,
    summary: said === null ? null : lineOfOutput(head, said),
    cause: head.kind === 'suspend' ? head.node.cause : null,
  };
}
