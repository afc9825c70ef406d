import { expect, test, vi } from 'vitest';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { UwfError } from '../../src/errors.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { parseThreadId, type ThreadId } from '../../src/thread/thread-id.ts';
import { JobFinder } from '../../src/worker/find-jobs.ts';
import type { RemoteView } from '../../src/worker/remote-view.ts';

const findNextTurn = vi.hoisted(() => vi.fn<(engine: unknown, at: { id: ThreadId }) => Promise<object>>());
vi.mock('../../src/engine/describe/next-turn.ts', () => ({ findNextTurn }));

const [bad, good] = ['01KAM400000000000000000000', '01KAM400000000000000000001'].map(parseThreadId) as [
  ThreadId,
  ThreadId,
];
const turn = { workflow: 'w', workflowHash: 'h', role: 'r', needs: [], startedBy: 'a@b', isSettled: true };

function finderWhere(error: Error): JobFinder {
  findNextTurn.mockImplementation((_, { id }) => (id === bad ? Promise.reject(error) : Promise.resolve(turn)));
  const head = 'a'.repeat(40) as ObjectId;
  const view = {
    threads: new Map([bad, good].map((thread) => [thread, head])),
    isStopped: () => false,
  } as unknown as RemoteView;
  const engine = { repository: { objects: { has: () => Promise.resolve(true) } } } as unknown as EngineContext;
  return new JobFinder(engine, view, 'origin', { roles: [], workflows: [], authors: [] });
}

test.each([
  ['damaged', new UwfError('damaged', { code: 'corrupt-thread', kind: 'data' })],
  ['one whose check does not end', new UwfError('no end', { code: 'expression-timeout', kind: 'timeout' })],
  ['one that uwf has a fault with', new TypeError('x is undefined')],
])('a thread that is %s keeps no worker from the others', async (_, error) => {
  expect((await finderWhere(error).find()).map(({ thread }) => thread)).toEqual([good]);
});

test('a machine that cannot read is told of', async () => {
  const error = Object.assign(new Error('EMFILE'), { code: 'EMFILE', syscall: 'open' });
  await expect(finderWhere(error).find()).rejects.toBe(error);
});
