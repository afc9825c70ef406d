import { describe, expect, test } from 'vitest';
import type { Repository } from '../../src/git/repository.ts';
import { SKIPS } from '../../src/schema/built-in/thread-step.ts';
import { addUsage, type Usage } from '../../src/schema/built-in/schema-parts.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread, reopenThread, resumeThread, suspendThread } from '../../src/thread/thread-verbs.ts';
import { findStepByNumber, readThread } from '../../src/thread/thread-chain.ts';
import { type CommitOf, readReplaced, readState, type Tally, type ThreadState } from '../../src/thread/thread-state.ts';
import { newThreadId } from '../../src/thread/new-thread-id.ts';
import { readThreadCommit, type ThreadCommit } from '../../src/thread/thread-commit.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { createDice, growThread } from '../verify/grow-thread.ts';
import { addManySteps } from './long-thread.ts';
import { agent, startLoop, stepDraft } from './thread-fixture.ts';

const usage: Usage = { inputTokens: 5, outputTokens: 2, turns: 1, costUsd: 0.1 };

/** What the children have used of a step, of those that it replaced, or of an end: each read to its own start. */
async function usedByCalls(
  repository: Repository,
  commit: ThreadCommit,
): Promise<{ role: string; usage: Usage | null }[]> {
  if (commit.kind !== 'step' && commit.kind !== 'end') return [];
  const left = Object.entries<Usage>(commit.node.leftUsage ?? {}).map(([role, used]) => ({ role, usage: used }));
  if (commit.kind === 'end') return left;
  let taken: Usage | null = null;
  for (const parent of commit.commit.parents.slice(1)) {
    const end = await readThreadCommit(repository, parent).catch(() => undefined);
    if (end?.kind !== 'end') continue;
    const {
      usage: own,
      replaced,
      children,
    } = await workedOut(repository, { id: newThreadId({ now: () => 0 }), head: end });
    for (const each of [own, replaced, children]) taken = addUsage(taken, each);
  }
  const replaced = await readReplaced(repository, commit);
  const before = replaced[0] === undefined ? [] : await usedByCalls(repository, replaced[0]);
  return [{ role: commit.node.role, usage: taken }, ...left, ...before];
}

/** The tally of a thread, worked out from all its commits in the plainest way. */
async function workedOut(
  repository: Repository,
  { id, head }: Pick<ThreadState, 'id'> & { head: Pick<ThreadState['head'], 'id'> },
): Promise<Tally> {
  const { chain, start } = await readThread(repository, id, head.id);
  const steps = chain.filter((commit): commit is CommitOf<'step'> => commit.kind === 'step');
  const numberAt = (place: number): number => chain.slice(0, place + 1).filter(({ kind }) => kind === 'step').length;
  const placeOf = (commit: CommitOf<'step'> | undefined): Tally['compacted'] =>
    commit === undefined ? null : { commit: commit.id, number: commit.node.number };
  const reopened = chain.findLastIndex((commit, at) => commit.kind === 'resume' && chain[at - 1]?.kind !== 'suspend');
  const sumOf = (all: readonly (Usage | null)[]): Usage | null => all.reduce((sum, one) => addUsage(sum, one), null);
  const turns = chain.flatMap((commit) => (commit.kind === 'step' || commit.kind === 'suspend' ? [commit.node] : []));
  const replacedBy = async (all: readonly CommitOf<'step'>[]): Promise<Usage | null> =>
    sumOf((await Promise.all(all.map((step) => readReplaced(repository, step)))).flat().map(({ node }) => node.usage));
  const callers: CommitOf<'step'>[] = [];
  for (const step of steps) {
    const all = [step, ...(await readReplaced(repository, step))];
    if (all.some(({ node }) => node.childThreads.length > 0 || node.leftUsage !== undefined)) callers.push(step);
  }
  const byCommit = await Promise.all(chain.map((commit) => usedByCalls(repository, commit)));
  const called = byCommit.flat();
  const roles: [string, Tally['roles'] extends ReadonlyMap<string, infer R> ? R : never][] = [];
  for (const role of new Set([...turns, ...called].map((turn) => turn.role))) {
    const own = steps.filter(({ node }) => node.role === role);
    const since = chain.slice(chain.indexOf(own.at(-1) ?? start) + 1);
    roles.push([
      role,
      {
        visits: own.length,
        first: own[0]?.node.number ?? null,
        last: own.at(-1)?.node.number ?? null,
        usage: sumOf(turns.filter((turn) => turn.role === role).map((turn) => turn.usage)),
        replaced: await replacedBy(own),
        children: sumOf(called.filter((each) => each.role === role).map((each) => each.usage)),
        waits: since.filter((commit) => commit.kind === 'suspend' && commit.node.role === role).length,
      },
    ]);
  }
  return {
    start: start.id,
    steps: steps.length,
    roles: new Map(roles),
    usage: sumOf(turns.map((turn) => turn.usage)),
    replaced: await replacedBy(steps),
    children: sumOf(called.map((each) => each.usage)),
    more: {},
    recorded: null,
    compacted: placeOf(steps.findLast(({ node }) => node.compact !== null)),
    calling: callers.at(-1)?.id ?? null,
    reopened: reopened === -1 ? null : { commit: chain[reopened]!.id, number: numberAt(reopened) },
    skips: SKIPS.flatMap((distance) => steps.findLast(({ node }) => node.number % distance === 0)?.id ?? []),
  };
}

test('the tally of a thread is what all its commits say, while it grows and when it is read', async () => {
  const dice = createDice(7);
  let calling = 0;
  let reopened = 0;
  for (let round = 0; round < 40; round += 1) {
    const repository = createMapRepository();
    const grown = await growThread(repository, dice);
    const expected = await workedOut(repository, grown);
    expect(grown.tally).toEqual(expected);
    expect(await readState(repository, grown.id, grown.head.id)).toEqual(grown);
    calling += expected.calling === null ? 0 : 1;
    reopened += expected.reopened === null ? 0 : 1;
  }
  expect(calling).toBeGreaterThan(0);
  expect(reopened).toBeGreaterThan(0);
});

describe('what people added and what was done again', () => {
  test('is part of the tally, and what an end leaves open is not', async () => {
    const repository = createMapRepository();
    const started = await startLoop(repository);
    const waits = { role: 'writer', reason: 'Why?', cause: 'limit' as const, prompt: 'p', agent, rule: 0, usage };
    const suspended = await suspendThread(repository, started, { ...waits, attempts: [] });
    const resumed = await resumeThread(repository, suspended, undefined, { maxSteps: 3, maxCostUsd: 0.5 });
    const one = await appendStep(repository, resumed, stepDraft({ usage }));
    const replaces = one.last!;
    const poked = await appendStep(repository, resumed, stepDraft({ usage, text: 'Better.', replaces }));
    expect(poked.tally).toMatchObject({ steps: 1, replaced: usage, more: { maxSteps: 3, maxCostUsd: 0.5 } });
    expect(poked.tally.usage).toEqual(addUsage(usage, usage));
    const again = await suspendThread(repository, poked, { ...waits, attempts: [] });
    expect(again.tally.roles.get('writer')).toMatchObject({ visits: 1, waits: 1 });
    const ended = await endThread(repository, again, { outcome: 'cancelled', returnCode: 130, summary: '' });
    const reopened = await reopenThread(repository, ended, 'Go on.', { maxSteps: 1 });
    expect(reopened.tally).toMatchObject({ usage: poked.tally.usage, more: { maxSteps: 4, maxCostUsd: 0.5 } });
    expect(reopened.tally.reopened).toEqual({ commit: reopened.head.id, number: 1 });
    expect(await readState(repository, reopened.id, reopened.head.id)).toEqual(reopened);
  });
});

describe('a long thread', () => {
  test('is read from its head, its last step and its start', async () => {
    const repository = createMapRepository();
    const started = await startLoop(repository);
    const long = await readState(repository, started.id, await addManySteps(repository, started, 5000, 77));
    const spied = watched(repository);
    expect(await readState(spied.repository, long.id, long.head.id)).toEqual(long);
    // Of the head and of the start the commit, the tree, the index of each folder and the node; the prompt.
    expect(spied.read.length).toBeLessThan(16);
    for (const number of [1, 2, 15, 16, 17, 256, 904, 4095, 4096, 4097, 4999, 5000]) {
      spied.read.length = 0;
      const step = await findStepByNumber(spied.repository, long.head.id, number);
      expect(step?.node.number).toBe(number);
      // Three objects of each: at most three steps of each distance.
      expect(spied.read.length).toBeLessThan(3 * 24);
    }
    for (const none of [0, -1, 5001]) expect(await findStepByNumber(repository, long.head.id, none)).toBeUndefined();
  });
});
