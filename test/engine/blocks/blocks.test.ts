import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { UwfError } from '../../../src/errors.ts';
import type { AgentUse } from '../../../src/engine/engine-context.ts';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { readChain } from '../../../src/thread/thread-chain.ts';
import type { JsonObject } from '../../../src/json.ts';
import type { ThreadSummary } from '../../../src/engine/describe/read-listed.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { threadStatuses } from '../../../src/thread/thread-state.ts';
import type { Scenario } from '../../helpers/scenario.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { startBlock, withBlock, type Block } from './block-fixture.ts';

const good = { workflow: 'review', prompt: 'Look well at {{ key }}.' };
const bad = { workflow: 'review', prompt: 'BAD' };
const asking = { workflow: 'review', prompt: 'ASK' };
const each = { over: "$last('planner').phases", as: 'phase', key: 'phase.id', workflow: 'review' };

/** Runs a workflow with a block and returns the meta of the block's step. */
async function metaOf(block: Block, phases: unknown[] = []): Promise<JsonObject | undefined> {
  const scene = await startBlock(block, { phases });
  await scene.run();
  return blockMeta(scene);
}

async function blockMeta({ repository, thread }: Scenario): Promise<JsonObject | undefined> {
  for await (const commit of readChain(repository, (await getThread(repository, thread)).head)) {
    if (commit.kind === 'step' && commit.node.role === 'work') return commit.node.meta;
  }
  return undefined;
}

describe('a join', () => {
  const cases: [name: string, block: Block, status: string, taken: number][] = [
    ['of all', { branches: { a: good, b: good, c: good }, join: 'all' }, 'joined', 3],
    [
      'of all that cannot hold waits for the others',
      { branches: { a: bad, b: good, c: good }, join: 'all' },
      'failed',
      3,
    ],
    ['of any', { branches: { a: good, b: bad }, join: 'any' }, 'joined', 1],
    ['of any that all fail', { branches: { a: bad, b: bad }, join: 'any' }, 'failed', 2],
    ['of at least two', { branches: { a: good, b: good, c: good }, join: { atLeast: 2 } }, 'joined', 2],
    ['by an expression', { branches: { a: good, b: good }, join: '$count($branches) = 1' }, 'joined', 1],
    [
      'by an expression that names a status',
      { branches: { a: good }, join: '$branches.status = "good" ? "fine" : false' },
      'fine',
      1,
    ],
    ['by an expression that never holds', { branches: { a: good, b: good }, join: 'false' }, 'failed', 2],
  ];
  test.each(cases)('%s', async (_name, block, status, taken) => {
    const meta = await metaOf(block);
    expect(meta?.['$status']).toBe(status);
    // Of any, a branch that failed may have come first.
    const order = meta?.['order'] as string[];
    expect(order.length >= taken && order.length <= Object.keys(block.branches ?? {}).length).toBe(true);
    expect(Object.keys(meta?.['branches'] as object).toSorted()).toEqual(order.toSorted());
  });

  test('records the status, the meta and the end of each branch', async () => {
    const meta = await metaOf({ branches: { a: bad }, join: 'any' });
    expect(meta?.['branches']).toEqual({
      a: {
        status: 'bad',
        meta: { $status: 'bad' },
        end: { outcome: 'failed', returnCode: 1, summary: 'It is bad.\n' },
      },
    });
  });

  test('that cannot hold cancels the others where the block says so', async () => {
    const scene = await startBlock({ branches: { a: bad, b: asking }, join: 'all', onFailure: 'cancel' });
    await scene.run();
    expect(await blockMeta(scene)).toMatchObject({ $status: 'failed', order: ['a'] });
    const statuses = (await listAll(scene)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual(['cancelled', 'ended', 'failed']);
  });
});

function listAll({ engine }: Scenario): Promise<ThreadSummary[]> {
  return engine.list({ statuses: threadStatuses });
}

describe('a branch for each item of a list', () => {
  test('has the item in its key and its prompt', async () => {
    const phases = [
      { id: 'x', title: 'BAD' },
      { id: 7, title: 'fine' },
    ];
    const block: Block = { each: { ...each, prompt: 'Do {{ phase.title }} as {{ key }}.' }, join: 'all' };
    const meta = await metaOf(block, phases);
    expect(meta).toMatchObject({
      $status: 'failed',
      branches: { x: { status: 'bad' }, 7: { status: 'good' } },
    });
  });

  test('joins at once over an empty list', async () => {
    expect(await metaOf({ each, join: 'all' })).toEqual({ $status: 'joined', order: [], branches: {} });
  });

  test.each([
    ['[ $start.nothing ]', []],
    ["[ $last('planner').phases[id = 'x'] ]", ['x']],
    ["[ $last('planner').phases ]", ['x', 'y']],
  ])('has a list of %s, whatever the value', async (over, keys) => {
    const meta = await metaOf({ each: { ...each, over }, join: 'all' }, [{ id: 'x' }, { id: 'y' }]);
    expect(Object.keys(meta?.['branches'] ?? {}).toSorted()).toEqual(keys);
  });

  test('fails at once where fewer branches are listed than are wanted', async () => {
    expect(await metaOf({ each, join: { atLeast: 3 } }, [{ id: 1 }])).toMatchObject({ $status: 'failed', order: [] });
    expect(await metaOf({ each, join: 'any' })).toMatchObject({ $status: 'failed', order: [] });
  });

  test.each([
    ['a key twice', each, [{ id: 1 }, { id: 1 }], "'key' of block 'work' does not work: it gives '1' twice"],
    ['no key', each, [{}], "'key' of block 'work' does not work: for item 1"],
    [
      'no list',
      { ...each, over: '$start.prompt' },
      [],
      "'over' of block 'work' does not work: its value is no list; write [ … ] around it",
    ],
    [
      'nothing',
      { ...each, over: '$start.nothing' },
      [],
      "'over' of block 'work' does not work: it has no value; if there may be none, write [ … ] around it",
    ],
    ['too many', { ...each, over: '[1..2001]' }, [], 'its list has 2001 items'],
    ['an empty prompt', { ...each, prompt: '{{ phase.title }}' }, [{ id: 1 }], 'it renders to nothing'],
  ])('waits for a person over %s', async (_what, given, phases, reason) => {
    const scene = await startBlock({ each: given, join: 'all' }, { phases });
    const over = await scene.run();
    expect(over.event).toBe('thread.suspended');
    expect(over.text).toContain(reason);
  });
});

describe('a branch that waits', () => {
  test('lets the others go on, and the caller names all that wait', async () => {
    const scene = await startBlock({ branches: { a: asking, b: good, c: asking }, join: 'all' });
    const { engine, thread } = scene;
    const text = '2 branches wait:\na: what now?\nc: what now?';
    expect(await scene.run()).toMatchObject({ event: 'thread.suspended', text });
    const begun = scene.told('thread.started').flatMap(({ branch }) => branch ?? []);
    expect(begun.map(({ block, key }) => `${block} ${key}`).toSorted()).toEqual(['work a', 'work b', 'work c']);
    const waiting = await engine.list({ statuses: ['suspended'], workflow: 'review' });
    const [first, second] = waiting.map((each) => each.thread);
    await expect(engine.resume(thread, { answer: 'the answer' })).rejects.toMatchObject({
      message: expect.stringContaining('2 branches wait, each for its own answer') as string,
      hint: expect.stringContaining(`'uwf thread resume ${second ?? ''} -p <answer>'`) as string,
    });
    await engine.resume(first ?? '', { answer: 'the answer' });
    expect((await scene.view()).status).toBe('suspended');
    scene.events.length = 0;
    // Only one waits, so it is meant.
    const ended = await scene.resume('the answer');
    const [continued] = scene.events;
    expect(continued).toMatchObject({ event: 'branch.continued', parent: thread, branch: { block: 'work' } });
    expect(ended).toMatchObject({ event: 'thread.ended' });
    expect(await blockMeta(scene)).toMatchObject({ $status: 'joined', branches: { a: {}, b: {}, c: {} } });
    expectCleanFsck(scene.dir);
  });

  test('because its agent failed is taken up with all others like it by one resumption', async () => {
    const down = { workflow: 'review', prompt: 'DOWN' };
    const scene = await startBlock({ branches: { a: down, b: down, c: down }, join: 'all' });
    expect((await scene.run()).text).toContain('3 branches wait:');
    writeFileSync(path.join(scene.dir, 'up'), '');
    expect(await scene.resume()).toMatchObject({ event: 'thread.ended' });
  });

  test('is not waited for once the join is decided without it', async () => {
    const scene = await startBlock({ branches: { a: asking, b: asking }, join: 'any' });
    await scene.run();
    const [first] = (await listAll(scene)).filter(({ workflow }) => workflow === 'review');
    await scene.engine.resume(first?.thread ?? '', { answer: 'the answer' });
    expect((await scene.view()).status).toBe('ended');
    const statuses = (await listAll(scene)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual(['cancelled', 'ended', 'ended']);
  });
});

test('a branch that could not begin does not keep a join from being decided without it', async () => {
  let isRefused = false;
  const events: EngineEvent[] = [];
  const admit = (uses: readonly AgentUse[]): Promise<void> => {
    // The first branch alone: its workflow is admitted before its thread is made.
    const isFirst = !isRefused && events.some(({ event }) => event === 'step.finished');
    if (!isFirst || !uses.some(({ binding }) => binding.name === 'reader-agent')) return Promise.resolve();
    isRefused = true;
    return Promise.reject(new UwfError('not now', { code: 'not-trusted', kind: 'agent' }));
  };
  const engine = { admit, onEvent: (event: EngineEvent) => void events.push(event) };
  const scene = await startBlock({ branches: { a: good, b: good }, join: 'any' }, { engine });
  await scene.run();
  expect(isRefused).toBe(true);
  expect(await blockMeta(scene)).toMatchObject({ $status: 'joined', order: ['b'] });
});

test('a role alone runs as a workflow of the same name', async () => {
  const branches = { a: { role: 'checker' }, b: { role: 'checker', prompt: 'BAD' } };
  const scene = await startBlock({ branches, join: 'all' });
  await scene.run();
  expect(await blockMeta(scene)).toMatchObject({
    $status: 'joined',
    branches: { a: { status: 'good' }, b: { status: 'bad' } },
  });
  expect((await listAll(scene)).map(({ workflow }) => workflow)).toEqual(['whole', 'whole', 'whole']);
});

test('blocks nest', async () => {
  const inner = await withBlock({ branches: { x: good, y: good }, join: 'all' }, { name: 'inner' });
  const branches = { a: { workflow: 'inner' }, b: { workflow: 'inner' } };
  const scene = await startBlock({ branches, join: 'all' }, { others: [inner] });
  expect(await scene.run()).toMatchObject({ event: 'thread.ended' });
  expect(await listAll(scene)).toHaveLength(7);
  expectCleanFsck(scene.dir);
});
