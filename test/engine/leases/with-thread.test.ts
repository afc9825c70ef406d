import { existsSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { readingContext, type EngineContext } from '../../../src/engine/engine-context.ts';
import { findLease, leasePath } from '../../../src/engine/leases/find-lease.ts';
import { LeaseHeld, takeLease } from '../../../src/engine/leases/lease.ts';
import { readCurrent, withLease, withThread } from '../../../src/engine/leases/with-thread.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { endThread } from '../../../src/thread/thread-verbs.ts';
import { appendStep } from '../../../src/thread/append-step.ts';
import { activeRef } from '../../../src/thread/thread-id.ts';
import type { Repository } from '../../../src/git/repository.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { createMemoryRepository } from '../../helpers/memory-repository.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { startLoop, stepDraft } from '../../thread/thread-fixture.ts';

let repository: Repository;
let state: ThreadState;
let debugged: [string, object][];
let closed: string[];

beforeEach(async () => {
  const memory = await createMemoryRepository(Date.now);
  repository = { ...memory.repository, stateDir: createTemporaryFolder() };
  state = await startLoop(repository);
  debugged = [];
  closed = [];
});

function createEngine(): EngineContext {
  const engine = readingContext(repository);
  engine.journal.close = (thread) => {
    // A process that follows stops when the lease is gone: the journal is written before.
    expect(findLease(repository, thread)).toBeDefined();
    closed.push(thread);
  };
  return { ...engine, signal: engine.signal, debug: (_thread, about, facts = {}) => debugged.push([about, facts]) };
}

describe('work under the lease of a thread', () => {
  test('has the lease while it goes on, and releases it with the journal closed', async () => {
    const engine = createEngine();
    const token = await withLease(engine, state.id, undefined, async (lease) => {
      expect(findLease(repository, state.id)?.token).toBe(lease.token);
      await expect(withLease(engine, state.id, undefined, () => Promise.resolve())).rejects.toThrow(LeaseHeld);
      return lease.token;
    });
    expect(token).not.toBe('');
    expect(existsSync(leasePath(String(repository.stateDir), state.id))).toBe(false);
    expect(closed).toEqual([state.id]);
    expect(debugged).toEqual([
      ['lease taken', { pid: process.pid }],
      ['lease released', {}],
    ]);
  });

  test('releases it when it fails, and the journal says why', async () => {
    const fail = (error: Error) => () => Promise.reject(error);
    const engine = createEngine();
    await expect(withLease(engine, state.id, undefined, fail(new Error('disk on fire')))).rejects.toThrow(
      'disk on fire',
    );
    expect(existsSync(leasePath(String(repository.stateDir), state.id))).toBe(false);
    expect(closed).toEqual([state.id]);
    expect(debugged).toContainEqual(['stopped', { message: 'disk on fire' }]);
  });

  test('adopts the lease that it is given the token of', async () => {
    const { token } = await takeLease(repository, state.id);
    await expect(withLease(createEngine(), state.id, 'another', () => Promise.resolve())).rejects.toMatchObject({
      code: 'hand-over-failed',
    });
    expect(await withLease(createEngine(), state.id, token, (lease) => Promise.resolve(lease.token))).toBe(token);
  });

  test('sees the head that the thread has after the lease was taken', async () => {
    const engine = createEngine();
    const { head } = await appendStep(repository, state, stepDraft());
    const seen = await withThread(engine, state.id.slice(0, 20), undefined, ({ id, head }, lease) => {
      expect(findLease(repository, id)?.token).toBe(lease.token);
      return Promise.resolve(head.id);
    });
    expect(seen).toBe(head.id);
  });
});

test('a thread is read with its ending finished, if a crash cut that in two', async () => {
  const before = state.head.id;
  const ended = await endThread(repository, state, { outcome: 'cancelled', returnCode: 130, summary: 'no' });
  const ref = activeRef(state.id);
  // The crash: the history ref was written, and the active one not yet removed.
  await repository.refs.update([{ name: ref, expected: null, value: before }]);
  const read = await readCurrent(repository, state.id);
  expect(read.end?.id).toBe(ended.head.id);
  expect(await repository.refs.read(ref)).toBeUndefined();
  expect((await getThread(repository, state.id)).head).toBe(ended.head.id);
});
