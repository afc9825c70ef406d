import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import { derivedContent } from '../../../src/git/system/derived-file.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { addUsage, type Usage } from '../../../src/schema/built-in/usage.ts';
import { appendStep } from '../../../src/thread/append/append-step.ts';
import { reopenThread, resumeThread } from '../../../src/thread/append/resume-thread.ts';
import { suspendThread } from '../../../src/thread/append/suspend-thread.ts';
import { endThread } from '../../../src/thread/append/end-thread.ts';
import { forkThread } from '../../../src/thread/fork/fork-thread.ts';
import { derivedPath } from '../../../src/thread/read/derived-path.ts';
import { keepTallies } from '../../../src/thread/read/kept-tallies.ts';
import { findStart } from '../../../src/thread/read/read-start.ts';
import { readReplaced } from '../../../src/thread/read/replaced-steps.ts';
import type { Tally } from '../../../src/thread/read/tally.ts';
import { readState, type CommitOf, type ThreadState } from '../../../src/thread/read/thread-state.ts';
import { readThread } from '../../../src/thread/read/whole-thread.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { createTemporaryRepository, type TemporaryRepository } from '../../helpers/temporary-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { createDice, growThread } from '../../verify/grow-thread.ts';
import { addManySteps } from '../long-thread.ts';
import { agent, startLoop, stepDraft } from '../thread-fixture.ts';

const usage: Usage = { inputTokens: 5, outputTokens: 2, turns: 1, costUsd: 0.1 };

/** The tally of a thread, worked out from all its commits in the plainest way. */
async function workedOut(repository: Repository, { id, head }: ThreadState): Promise<Tally> {
  const { chain, start } = await readThread(repository, id, head.id);
  const steps = chain.filter((commit): commit is CommitOf<'step'> => commit.kind === 'step');
  const numberAt = (place: number): number => chain.slice(0, place + 1).filter(({ kind }) => kind === 'step').length;
  const placeOf = (commit: CommitOf<'step'> | undefined): Tally['compacted'] =>
    commit === undefined ? null : { commit: commit.id, number: commit.node.number };
  const sumOf = (all: readonly (Usage | null)[]): Usage | null => all.reduce((sum, one) => addUsage(sum, one), null);
  const turns = chain.flatMap((commit) => (commit.kind === 'step' || commit.kind === 'suspend' ? [commit.node] : []));
  const replacedBy = async (all: readonly CommitOf<'step'>[]): Promise<Usage | null> =>
    sumOf((await Promise.all(all.map((step) => readReplaced(repository, step)))).flat().map(({ node }) => node.usage));
  const roles: [string, Tally['roles'] extends ReadonlyMap<string, infer R> ? R : never][] = [];
  for (const role of new Set(turns.map((turn) => turn.role))) {
    const own = steps.filter(({ node }) => node.role === role);
    const since = chain.slice(chain.indexOf(own.at(-1) ?? start) + 1);
    roles.push([
      role,
      {
        visits: own.length,
        first: placeOf(own[0]),
        last: placeOf(own.at(-1)),
        usage: sumOf(turns.filter((turn) => turn.role === role).map((turn) => turn.usage)),
        replaced: await replacedBy(own),
        waits: since.filter((commit) => commit.kind === 'suspend' && commit.node.role === role).length,
      },
    ]);
  }
  return {
    start: start.id,
    steps: steps.length,
    types: new Set(
      chain.flatMap(({ index }) =>
        index.filter(({ path, hash }) => path === `types/${hash}.json`).map(({ hash }) => hash),
      ),
    ),
    roles: new Map(roles),
    usage: sumOf(turns.map((turn) => turn.usage)),
    replaced: await replacedBy(steps),
    more: {},
    files: null,
    compacted: placeOf(steps.findLast(({ node }) => node.compact !== null)),
    calling: steps.filter(({ node }) => node.childThreads.length > 0).map(({ id: commit }) => commit),
    reopenings: chain.flatMap((commit, at) =>
      commit.kind === 'resume' && chain[at - 1]?.kind !== 'suspend'
        ? [{ commit: commit.id, number: numberAt(at) }]
        : [],
    ),
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
    calling += expected.calling.length;
    reopened += expected.reopenings.length;
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
    expect(reopened.tally.reopenings).toEqual([{ commit: reopened.head.id, number: 1 }]);
    expect(await readState(repository, reopened.id, reopened.head.id)).toEqual(reopened);
  });
});

describe('a tally that this machine keeps', () => {
  let temporary: TemporaryRepository;
  let state: ThreadState;
  let path: string;

  beforeAll(async () => {
    temporary = createTemporaryRepository();
    const repository = await temporary.open();
    const started = await startLoop(repository);
    const head = await addManySteps(repository, started, 200, 77);
    state = await readState(repository, started.id, head);
    path = derivedPath(repository, state.id, 'tally')!;
  });

  const readAgain = async (head = state.head.id): Promise<{ state: ThreadState; reads: number }> => {
    const { repository, read } = watched(await temporary.open());
    const again = await readState(repository, state.id, head);
    return { state: again, reads: read.length };
  };

  test('saves reading what is older', async () => {
    expect(existsSync(path)).toBe(true);
    const { state: again, reads } = await readAgain();
    expect(again).toEqual(state);
    // Eight steps since the 192nd, four objects each; that step, the start, and the prompt.
    expect(reads).toBeLessThan(8 * 4 + 12);
  });

  test('is handed on to a fork', async () => {
    await readAgain();
    const { repository, read } = watched(await temporary.open());
    const fork = await forkThread(repository, { id: state.id, head: state.head.id });
    const before = read.length;
    const forked = await readState(repository, fork.thread, fork.head);
    expect(forked).toEqual({ ...state, id: fork.thread });
    expect(read.length - before).toBeLessThan(8 * 4 + 12);
  });

  test('tells where a fork starts, and is not believed if that is the start of another thread', async () => {
    const { repository, read } = watched(await temporary.open());
    const fork = await forkThread(repository, { id: state.id, head: state.head.id });
    const before = read.length;
    expect((await findStart(repository, fork.head, undefined, fork.thread))?.id).toBe(state.start.id);
    expect(read.length - before).toBeLessThan(8);
    const other = await startLoop(repository);
    for (const start of [other.head.id, state.head.id, parseObjectId('0'.repeat(39) + '1')]) {
      keepTallies(repository, fork.thread, [{ commit: state.head.id, tally: { ...state.tally, start } }]);
      expect((await findStart(repository, fork.head, undefined, fork.thread))?.id).toBe(state.start.id);
    }
  });

  test('saves it also for the steps before, back to the one before the last that is kept', async () => {
    const before = await readAgain(parseObjectId(temporary.git('rev-parse', `${state.head.id}~72`)));
    expect(before.state.tally.steps).toBe(128);
    expect(before.reads).toBeLessThan(12);
    expect((await readAgain(parseObjectId(temporary.git('rev-parse', `${state.head.id}~73`)))).reads).toBeGreaterThan(
      127 * 4,
    );
    await readAgain();
  });

  const other = (content: string): void => writeFileSync(path, derivedContent(path, 'tally 1', content));
  test.each<[string, () => unknown]>([
    ['is gone', () => rmSync(path)],
    ['is cut', () => writeFileSync(path, readFileSync(path).subarray(0, 500))],
    ['is garbage', () => writeFileSync(path, 'x'.repeat(1000))],
    [
      'has one byte changed',
      () => writeFileSync(path, readFileSync(path, 'utf8').replace('"steps":192', '"steps":191')),
    ],
    ['is of another version', () => writeFileSync(path, derivedContent(path, 'tally 0', '[]\n'))],
    ['is of another thread', () => renameSync(path, `${path}.other`)],
    ['is no JSON', () => other('[')],
    ['lacks a field', () => other('[{"steps":1}]')],
    ['is empty', () => other('[]')],
    [
      'is about commits that are not of this chain',
      () =>
        other(
          readFileSync(path, 'utf8')
            .split('\n')[1]!
            .replaceAll(/"commit":"[0-9a-f]{4}/g, '"commit":"0000'),
        ),
    ],
    ['is a folder', () => [rmSync(path), mkdirSync(path)]],
  ])('is worked out again where it %s', async (_what, damage) => {
    await readAgain();
    damage();
    expect((await readAgain()).state).toEqual(state);
  });

  test('is kept while the thread grows, and is the same as one that is read', async () => {
    const repository = await temporary.open();
    let grown = state;
    for (let step = 0; step < 60; step += 1) grown = await appendStep(repository, grown, stepDraft({ usage }));
    const kept = await readAgain(grown.head.id);
    expect(kept.reads).toBeLessThan(60);
    rmSync(path);
    const read = await readAgain(grown.head.id);
    expect(read.reads).toBeGreaterThan(1000);
    expect(kept.state).toEqual(grown);
    expect(read.state).toEqual(grown);
  });
});
