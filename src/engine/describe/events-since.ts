import type { ObjectId } from '../../git/format/object-id.ts';
import { lineOfStored } from '../../thread/commit-message.ts';
import { type LightCommit, readLightChain, readReply } from '../../thread/thread-chain.ts';
import { readState, type ThreadState } from '../../thread/thread-state.ts';
import { statusOf } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Reading } from '../engine-context.ts';
import { branchOf, type EngineEvent } from '../events.ts';
import { describeOver, parentAtBirth, workflowNameOf } from './gather-facts.ts';

/**
 * Lists the events that a run would have told between two heads of a thread, oldest first: what another machine did, as its
 * commits tell it.
 *
 * A suspension is told only where the thread still stands at it.
 * @param before the earlier head; absent: from the start on. If it is not on the thread's chain, only its newest commit is told
 */
export async function eventsSince(
  engine: Reading,
  at: { id: ThreadId; head: ObjectId },
  before: ObjectId | undefined,
): Promise<EngineEvent[]> {
  const { repository } = engine;
  const commits: LightCommit[] = [];
  let isFound = before === undefined;
  for await (const commit of readLightChain(repository, at.head)) {
    isFound ||= commit.id === before;
    if (commit.id === before) break;
    commits.unshift(commit);
  }
  const state = await readState(repository, at.id, at.head);
  const events: EngineEvent[] = [];
  for (const commit of isFound ? commits : commits.slice(-1)) {
    if (commit.kind === 'start') events.push(await startedEvent(engine, state));
    if (commit.kind !== 'step') continue;
    const { role, number, meta, startedAtMs, completedAtMs, usage } = commit.node;
    events.push({
      event: 'step.finished',
      thread: at.id,
      role,
      step: commit.hash,
      number,
      outcome: statusOf(meta),
      head: commit.id,
      subject: lineOfStored(commit, await readReply(repository, commit)),
      durationMs: completedAtMs - startedAtMs,
      usage,
    });
  }
  const over = at.head === before ? undefined : await describeOver(engine, state);
  return over === undefined ? events : [...events, over];
}

async function startedEvent(engine: Reading, { id, start }: ThreadState): Promise<EngineEvent> {
  const branch = branchOf(start.node.call);
  const workflow = await workflowNameOf(engine.repository, start);
  const parent = await parentAtBirth(engine, start);
  return { event: 'thread.started', thread: id, workflow, head: start.id, parent, ...(branch && { branch }) };
}
