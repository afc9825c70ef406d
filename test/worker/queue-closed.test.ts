import { expect, test, vi } from 'vitest';
import { runWorker, type WorkerOptions } from '../../src/worker/worker.ts';
import { createPlaces, type Place } from '../sync/places.ts';

test('a queue that gives no work is closed', async () => {
  const [{ repository, remote, context }] = createPlaces('Ada').places as [Place];
  const close = vi.fn(() => Promise.resolve());
  const never = new AbortController().signal;
  const identity = { worker: 'w', host: 'h', session: '0123456789abcdef', deadlineMs: 60_000 };
  const options: WorkerOptions = {
    repository,
    remote,
    identity,
    context,
    sync: {},
    filter: { roles: [], workflows: [], authors: [] },
    atOnce: 1,
    labels: [],
    poll: { minMs: 10, maxMs: 10 },
    drain: false,
    once: false,
    finish: never,
    giveBack: never,
    openEngine: () => expect.unreachable(),
    onEvent: () => {},
    onTrouble: () => {},
    openQueue: async () => ({ offer: async () => {}, work: () => Promise.reject(new Error('no connection')), close }),
  };
  await expect(runWorker(options)).rejects.toThrow('no connection');
  expect(close).toHaveBeenCalledOnce();
});
