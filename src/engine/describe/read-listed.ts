import type { Commit } from '../../git/format/commit.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { decide } from '../../moderator/decide.ts';
import type { PastSteps } from '../../moderator/decision.ts';
import { lineOfOutput } from '../../thread/append/commit-message.ts';
import { firstLine } from '../../thread/append/line-of-text.ts';
import type { ThreadPointer } from '../../thread/find/find-thread.ts';
import { agentName } from '../../thread/read/agent-name.ts';
import {
  readLightChain,
  readLightCommit,
  readReply,
  type LightCommit,
  type LightStart,
  type LightStep,
} from '../../thread/read/light-chain.ts';
import { startOf } from '../../thread/read/read-start.ts';
import { viewOf, type StepView } from '../../thread/read/step-view.ts';
import { readState } from '../../thread/read/thread-state.ts';
import { statusOfHead } from '../../thread/read/thread-status.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import { pinnedDefinition } from '../children/sub-workflow.ts';
import type { EngineContext } from '../engine-context.ts';
import { pastSteps } from '../turn/past-steps.ts';
import type { ListedFacts } from './facts.ts';

/** Of a longer thread a tally may be kept, so that fewer commits are read. */
const MAX_LIGHT_STEPS = 64;

/**
 * Reads what a list says of a thread: its head, its start, and of the steps between them what its rules look at.
 *
 * The steps are counted by the number of the newest one. Damage between the start and the head shows only in what is read.
 */
export async function readListed(
  engine: EngineContext,
  { id, head: from }: ThreadPointer,
): Promise<{ facts: ListedFacts; start: LightStart }> {
  const { repository } = engine;
  const newest: LightCommit[] = [];
  for await (const commit of readLightChain(repository, from)) {
    newest.push(commit);
    if (commit.kind === 'step') break;
  }
  const [head] = newest;
  const last = newest.at(-1);
  if (head === undefined || last === undefined) throw new CorruptThread(from, 'its chain has no start');
  const passed = new Map<ObjectId, Commit>();
  const start = await startOf(repository, last, undefined, passed);
  const definition = await pinnedDefinition(engine, { start }, start.node.workflow);
  const prompt = await readReply(repository, start);
  const said = head.kind === 'end' ? await readReply(repository, head) : null;
  const facts = {
    status: statusOfHead(head),
    workflow: definition.name,
    prompt: firstLine(prompt),
    startedAtMs: start.node.startedAtMs,
    endedAtMs: head.kind === 'end' ? head.node.completedAtMs : null,
    steps: last.kind === 'step' ? last.node.number : 0,
    reason: head.kind === 'suspend' ? head.node.reason : said,
    summary: said === null ? null : lineOfOutput(head, said),
    cause: head.kind === 'suspend' ? head.node.cause : null,
  };
  if (head.kind === 'suspend') return { facts: { ...facts, nextRole: head.node.role }, start };
  if (head.kind === 'end') return { facts: { ...facts, nextRole: null }, start };
  const { id: threadId, depth, startedAtMs } = start.node;
  const decision = await decide(definition.moderator, {
    threadId,
    start: { prompt, workflow: definition.name, depth, startedAtMs },
    steps: lightSteps(engine, { id, head: from, last, start, passed }),
    isResumed: newest.findLast(({ kind }) => kind === 'suspend' || kind === 'resume')?.kind === 'resume',
  });
  return { facts: { ...facts, nextRole: decision.kind === 'role' ? decision.role : null }, start };
}

/** The ends of a thread, and commits between them. */
type LightThread = Pick<ThreadPointer, 'id' | 'head'> & {
  last: LightCommit;
  start: LightStart;
  passed: ReadonlyMap<ObjectId, Commit>;
};

/** The steps of a thread for its rules: the newest one is known, and others are read if a rule looks at them. */
function lightSteps({ repository }: EngineContext, thread: LightThread): PastSteps {
  const { id, head, last, start } = thread;
  if (last.kind !== 'step') return { lastRole: undefined, seenBy: () => Promise.resolve({ steps: [] }) };
  let all: Promise<LightStep[]> | undefined;
  const view = async (step: LightStep, isWhole: boolean): Promise<StepView> => {
    const text = isWhole ? await readReply(repository, step) : '';
    return viewOf(step, text, isWhole ? await agentName(repository, start, step) : '');
  };
  return {
    lastRole: last.node.role,
    async seenBy(seen) {
      const { newest, counts, visits, ends, members } = seen;
      const isNewestEnough = newest <= 1 && !counts && !visits && !ends && members === undefined;
      if (isNewestEnough) return { steps: newest === 0 ? [] : [await view(last, true)] };
      if (last.node.number > MAX_LIGHT_STEPS)
        return pastSteps(repository, await readState(repository, id, head)).seenBy(seen);
      all ??= readSteps(repository, thread);
      const isWhole = newest > 0 || members !== undefined;
      return { steps: await Promise.all((await all).map((step) => view(step, isWhole))) };
    },
  };
}

/** Reads the steps behind the newest one, oldest first. */
async function readSteps(repository: Repository, { last, start, passed }: LightThread): Promise<LightStep[]> {
  const steps: LightStep[] = [];
  for (let commit = last; commit.id !== start.id;) {
    if (commit.kind === 'step') steps.unshift(commit);
    const [parent] = commit.commit.parents;
    if (parent === undefined) throw new CorruptThread(commit.id, 'it is no start and has no parent');
    commit = parent === start.id ? start : await readLightCommit(repository, parent, passed.get(parent));
  }
  return steps;
}
