import { expect, test, vi } from 'vitest';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { UwfError } from '../../src/errors.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { parseThreadId, type ThreadId } from '../../src/thread/thread-id.ts';
import { JobFinder, type RemoteView } from '../../src/worker/find-jobs.ts';

const findNextTurn = vi.hoisted(() => vi.fn<(engine: unknown, at: { id: ThreadId }) => Promise<object>>());
vi.mock('../../src/engine/describe/next-turn.ts', () => ({ findNextTurn }));

const [bad, good] = ['01KAM400000000000000000000', '01KAM400000000000000000001'].map(parseThreadId) as [
  ThreadId,
  ThreadId,
];
const turn = { workflow: 'w', workflowHash: 'h', role: 'r', needs: [], startedBy: 'a@b', isSettled: true };

const head = 'a'.repeat(40) as ObjectId;

/** A finder that takes turns of all roles. @param ended the threads that have ended here */
function finderWhere(outlook: () => Promise<object>, ended: readonly ThreadId[] = []): JobFinder {
  findNextTurn.mockImplementation((_, { id }) => (id === bad ? outlook() : Promise.resolve(turn)));
  const view = {
    threads: new Map([bad, good].map((thread) => [thread, head])),
    isStopped: () => false,
  } as unknown as RemoteView;
  const list = async (prefix: string) =>
    prefix === 'refs/history/' ? ended.map((thread) => ({ name: `${prefix}2026-11-21/${thread}`, id: head })) : [];
  const repository = { objects: { has: () => Promise.resolve(true) }, refs: { list } };
  const engine = { repository } as unknown as EngineContext;
  return new JobFinder(engine, view, 'origin', { roles: ['r'], workflows: [], authors: [] });
}

test.each([
  ['damaged', new UwfError('damaged', { code: 'corrupt-thread', kind: 'data' })],
  ['one whose check does not end', new UwfError('no end', { code: 'expression-timeout', kind: 'timeout' })],
  ['one that uwf has a fault with', new TypeError('x is undefined')],
])('a thread that is %s keeps no worker from the others', async (_, error) => {
  expect((await finderWhere(() => Promise.reject(error)).find()).map(({ thread }) => thread)).toEqual([good]);
});

test('a machine that cannot read is told of', async () => {
  const error = Object.assign(new Error('EMFILE'), { code: 'EMFILE', syscall: 'open' });
  await expect(finderWhere(() => Promise.reject(error)).find()).rejects.toBe(error);
});

test.each([
  ['whose head there is its end', 'over', []],
  ['that has ended here, whatever its next turn would be', { ...turn, role: 'another', needs: ['gpu'] }, [bad]],
] as const)('a thread %s is to be ended there by any worker', async (_, outlook, ended) => {
  const jobs = await finderWhere(() => Promise.resolve(outlook as object), ended).find();
  expect(jobs).toContainEqual({ remote: 'origin', thread: bad, head, needs: [] });
  expect(jobs).toHaveLength(2);
});
