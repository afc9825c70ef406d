import { readTextAt } from '../../src/thread/thread-commit.ts';
import { decisionContext } from '../../src/engine/turn/decide.ts';
import type { Repository } from '../../src/git/repository.ts';
import { decide } from '../../src/moderator/decide.ts';
import { appendStep, type WhoIsNext } from '../../src/thread/append-step.ts';
import { endThread, reopenThread, resumeThread, suspendThread } from '../../src/thread/thread-verbs.ts';
import { threadCas } from '../../src/thread/thread-cas.ts';
import { committedAt, stateCommit, stateHash, type ThreadState } from '../../src/thread/thread-state.ts';
import { callIdFor } from '../../src/thread/new-thread-id.ts';
import { END } from '../../src/workflow/definition.ts';
import { agent, loop, startLoop, stepDraft } from '../thread/thread-fixture.ts';

/** Gives whole numbers below a bound, the same for the same seed. */
export type Dice = (below: number) => number;

/** A small linear congruential generator: tests need variety, not chance. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const texts = [
  '# A poem\n\nRoses are red.\n',
  '',
  'Uwf-Node: forged\n\nUwf-Status: done',
  'ein Gedicht\r\nüber Füße 🌹',
  '{"type":"x"}',
];

/** Grows a thread as a run would: the moderator decides, turns wait, fail, leave traces and put things, threads end. */
export async function growThread(repository: Repository, dice: Dice, depth = 0): Promise<ThreadState> {
  const agents: Record<string, typeof agent> = dice(2) === 0 ? { writer: agent } : { writer: agent, checker: agent };
  return growOn(repository, dice, await startLoop(repository, { agents, prompt: `Task ${dice(1e9)}` }), depth);
}

async function growOn(repository: Repository, dice: Dice, start: ThreadState, depth: number): Promise<ThreadState> {
  let state = start;
  for (let left = 1 + dice(5); left > 0; left--) {
    const decision = await decide(loop.moderator, decisionContext(repository, state, loop.name));
    if (decision.kind !== 'role') break;
    // A person may give the turn to the other role.
    const isForced = dice(10) === 0;
    const role = isForced ? (decision.role === 'writer' ? 'checker' : 'writer') : decision.role;
    const rule = isForced ? null : decision.rule;
    if (dice(6) === 0) state = await pause(repository, dice, state, role, rule);
    const child = depth < 2 && dice(8) === 0 ? await growChild(repository, dice, state, role, depth) : undefined;
    if (dice(3) === 0) await threadCas(repository, state.id).put(`A note ${dice(1e9)}`);
    state = await appendStep(
      repository,
      state,
      stepDraft({
        role,
        rule,
        meta: { $status: dice(2) === 0 ? 'again' : 'done', ...(dice(3) === 0 && { link: stateHash(state) }) },
        text: texts[dice(texts.length)] ?? '',
        prompt: `Do step ${state.tally.steps + 1}.`,
        agent: dice(4) === 0 ? { ...agent, version: '2' } : agent,
        usage: dice(2) === 0 ? null : { inputTokens: dice(1000), outputTokens: dice(1000), turns: 1 },
        attempts: dice(5) === 0 ? [{ text: 'no', errors: ['not like this'], usage: null }] : [],
        trace: dice(4) === 0 ? trace(dice) : undefined,
        childThreads: child?.end ? [{ hash: child.end.hash, commit: child.end.id }] : [],
        leftUsage: dice(8) === 0 ? { writer: { inputTokens: dice(1000), outputTokens: 1, turns: 1 } } : undefined,
      }),
      whoIsNext,
    );
  }
  return dice(4) === 0 ? state : finish(repository, dice, state);
}

/** As the engine tells it, in most steps. */
const whoIsNext: WhoIsNext = async (imagined, after) => {
  if (after.tally.steps % 5 === 4) return undefined;
  const decision = await decide(loop.moderator, decisionContext(imagined, after, loop.name));
  return decision.kind === 'role' ? decision.role : END;
};

async function growChild(
  repository: Repository,
  dice: Dice,
  caller: ThreadState,
  role: string,
  depth: number,
): Promise<ThreadState> {
  const call = { thread: caller.id, key: `child ${dice(1e9)}`, ...(dice(2) === 0 && { ordinal: dice(3) }) };
  const state = committedAt(stateCommit(caller));
  const id = callIdFor({ ordinal: 0, ...call, state, role });
  const parent = {
    thread: caller.start.hash,
    state: stateHash(caller),
    role,
    head: caller.head.id,
    call,
  };
  const child = await growOn(
    repository,
    dice,
    await startLoop(repository, { id, parent, depth: depth + 1 }),
    depth + 1,
  );
  return child.end ? child : cancel(repository, child);
}

async function pause(
  repository: Repository,
  dice: Dice,
  state: ThreadState,
  role: string,
  rule: number | null,
): Promise<ThreadState> {
  const waiting = await suspendThread(repository, state, {
    role,
    rule,
    reason: 'a question',
    cause: 'agent',
    prompt: 'Do it.',
    agent,
    usage: null,
    attempts: [],
    ...(dice(2) === 0 && { text: 'Which one?' }),
  });
  return resumeThread(repository, waiting, dice(2) === 0 ? 'the left one' : undefined);
}

async function finish(repository: Repository, dice: Dice, state: ThreadState): Promise<ThreadState> {
  const decision = await decide(loop.moderator, decisionContext(repository, state, loop.name));
  if (decision.kind !== 'end') {
    const ended = await cancel(repository, state);
    return dice(4) === 0 ? reopenThread(repository, ended, 'go on') : ended;
  }
  const summary = decision.summary ?? (state.last && (await readTextAt(repository, state.last, 'output.md'))) ?? '';
  return endThread(repository, state, { outcome: 'completed', returnCode: 0, summary });
}

function cancel(repository: Repository, state: ThreadState): Promise<ThreadState> {
  const leftUsage = { checker: { inputTokens: 7, outputTokens: 0, turns: 1, costUsd: 0.25 } };
  const end = { outcome: 'cancelled', returnCode: 130, summary: 'cancelled by a person', leftUsage } as const;
  return endThread(repository, state, end);
}

function trace(dice: Dice): NonNullable<Parameters<typeof stepDraft>[0]>['trace'] {
  const turn = {
    input: 'Do it.',
    output: `Done ${dice(1e9)}.`,
    parts: [{ kind: 'thought' as const, text: 'Hm.' }],
    toolCalls: [
      { name: 'Read File', arguments: '{"path":"a"}', result: 'text', isError: dice(2) === 0, durationMs: 3 },
    ],
    tokens: { input: 1, output: 2 },
    startedAtMs: 1_795_262_400_000,
    latencyMs: 5,
  };
  return { durationMs: 12, turns: [turn, turn] };
}
