import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { EngineEvent } from '../../../src/engine/events.ts';
import {
  takeLease,
  takeLeaseFile,
  type Lease,
  prepareLeaseFolder,
  replaceRecordFile,
} from '../../../src/engine/leases/lease.ts';
import { inSlot } from '../../../src/engine/leases/with-thread.ts';
import { Interrupted } from '../../../src/engine/limits/limits.ts';
import { identityOf, type ProcessIdentity } from '../../../src/git/system/process-identity.ts';
import type { JsonObject } from '../../../src/json.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { createSlotFixture, nowMs, other, stateOf, thread, type SlotFixture } from './slot-fixture.ts';

let repository: Repository;
let folder: string;
let events: EngineEvent[];
let engineOf: SlotFixture['engineOf'];
let slotsTaken: SlotFixture['slotsTaken'];
let takeSlotFile: SlotFixture['takeSlotFile'];

beforeEach(async () => {
  ({ repository, folder, events, engineOf, slotsTaken, takeSlotFile } = await createSlotFixture());
});

async function endedProcess(): Promise<ProcessIdentity> {
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  const identity = identityOf(Number(child.pid));
  child.kill('SIGKILL');
  await once(child, 'exit');
  return identity;
}

describe('work on a thread', () => {
  test('has a slot while it goes on, and gives it back', async () => {
    const debugged: unknown[] = [];
    const engine = engineOf(2);
    engine.debug = (...line) => void debugged.push(line);
    expect(await inSlot(engine, stateOf(), slotsTaken)).toEqual(['1.json']);
    expect(readdirSync(folder)).toEqual([]);
    expect(events).toEqual([]);
    expect(debugged).toEqual([]);
  });

  test('gives its slot back when it fails', async () => {
    const work = (): Promise<never> => Promise.reject(new Error('no'));
    await expect(inSlot(engineOf(1), stateOf(), work)).rejects.toThrow('no');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('takes the first free slot, up to the limit', async () => {
    await takeSlotFile(1);
    expect((await inSlot(engineOf(2), stateOf(), slotsTaken)).toSorted()).toEqual(['1.json', '2.json']);
    expect(events).toEqual([]);
  });

  test('takes the slot of a process that has ended', async () => {
    const slot = join(folder, '1.json');
    prepareLeaseFolder(folder);
    const holder = await endedProcess();
    replaceRecordFile(slot, {
      token: 'a',
      holder,
      sinceMs: nowMs,
      deadlineMs: nowMs,
      processGroups: [],
      thread: other,
    });
    expect(await inSlot(engineOf(1), stateOf(), slotsTaken)).toEqual(['1.json']);
    expect(events).toEqual([]);
  });

  test('waits for a slot, names the holders once, and goes on when one is free', async () => {
    const held = await takeSlotFile(1);
    const debugged: [string, string, JsonObject | undefined][] = [];
    const engine = engineOf(1);
    engine.debug = (id, about, facts) => void debugged.push([id, about, facts]);
    const startedMs = performance.now();
    const working = inSlot(engine, stateOf(), slotsTaken);
    await expect.poll(() => events).toHaveLength(1);
    setTimeout(() => held.release(), 150);
    expect(await working).toEqual(['1.json']);
    const holders = [{ thread: other, pid: process.pid, host: expect.any(String) as string }];
    expect(events).toEqual([{ event: 'thread.waiting', thread, limit: 1, holders }]);
    expect(debugged).toEqual([[thread, 'slot taken', { waitedMs: expect.any(Number) as number }]]);
    expect(debugged[0]?.[2]?.['waitedMs']).toBeLessThanOrEqual(Math.round(performance.now() - startedMs));
  });

  test('waits also for slots that were given out while the limit was higher', async () => {
    const held = await takeSlotFile(2);
    const working = inSlot(engineOf(1), stateOf(), slotsTaken);
    await expect.poll(() => events).toMatchObject([{ event: 'thread.waiting', holders: [{ thread: other }] }]);
    held.release();
    expect(await working).toEqual(['1.json']);
  });

  test('waits also for a process that does not say which thread it works on', async () => {
    const held = (await takeLeaseFile(join(folder, '1.json'), Date.now)) as { lease: Lease };
    const working = inSlot(engineOf(1), stateOf(), slotsTaken);
    await expect.poll(() => events).toMatchObject([{ holders: [{ thread: '', pid: process.pid }] }]);
    held.lease.release();
    expect(await working).toEqual(['1.json']);
  });

  test('does not count other files, or slots that cannot be read', async () => {
    prepareLeaseFolder(folder);
    writeFileSync(join(folder, '7.json'), 'torn');
    const note = join(folder, 'note.txt');
    const { lease } = (await takeLeaseFile(note, Date.now)) as { lease: Lease };
    expect(await inSlot(engineOf(1), stateOf(), slotsTaken)).toContain('1.json');
    lease.release();
  });

  test('stops waiting when the engine is told to stop', async () => {
    await takeSlotFile(1);
    const stop = new AbortController();
    const working = inSlot(engineOf(1, { signal: stop.signal }), stateOf(), slotsTaken);
    await expect.poll(() => events).toHaveLength(1);
    stop.abort(new Error('told to'));
    await expect(working).rejects.toThrow(Interrupted);
    await expect(working).rejects.toMatchObject({ cause: { message: 'told to' } });
    expect(readdirSync(folder)).toEqual(['1.json']);
  });
});

describe('no slot is needed', () => {
  const noFolder = (): void => expect(() => readdirSync(folder)).toThrow('ENOENT');

  test('without a limit, or for a thread that is suspended or has ended', async () => {
    await inSlot(engineOf(undefined), stateOf(), () => Promise.resolve(noFolder()));
    await inSlot(engineOf(1), stateOf('suspend'), () => Promise.resolve(noFolder()));
    await inSlot(engineOf(1), stateOf('start', {}), () => Promise.resolve(noFolder()));
    expect(events).toEqual([]);
  });

  test('in a repository without a disk', async () => {
    const inMemory = { ...repository, stateDir: undefined };
    expect(await inSlot(engineOf(0, { repository: inMemory }), stateOf(), () => Promise.resolve('done'))).toBe('done');
  });

  test('where an agent at work on another thread runs the engine: one thread works in the slot of that one', async () => {
    const lease = await takeLease(repository, other);
    const env = { UWF_THREAD: other };
    const held = await takeSlotFile(1);
    const seen = await inSlot(engineOf(1, { env }), stateOf(), async () => {
      const second = inSlot(engineOf(1, { env }), stateOf(), slotsTaken);
      await expect.poll(() => events).toMatchObject([{ event: 'thread.waiting', holders: [{ thread: other }] }]);
      return { files: await slotsTaken(), second };
    });
    expect(seen.files).toContain(`${other}.json`);
    expect(await seen.second).toContain(`${other}.json`);
    held.release();
    lease.release();
    // The variable alone says nothing: that thread must be at work.
    expect(await inSlot(engineOf(1, { env }), stateOf(), slotsTaken)).toEqual(['1.json']);
    expect(await inSlot(engineOf(1, { env: { UWF_THREAD: 'no thread' } }), stateOf(), slotsTaken)).toEqual(['1.json']);
  });
});
