import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  findAbandoned,
  findLease,
  findLeaseRecord,
  findLeasesOf,
  findRunning,
  inProcessLeases,
  leasePath,
  listLeases,
  statusHere,
  isHolderAlive,
  mayBeHeld,
  readLeaseRecord,
  type LeaseRecord,
} from '../../../src/engine/leases/find-lease.ts';
import {
  LeaseHeld,
  takeLease,
  takeLeaseFile,
  takeOverLease,
  createRecordFile,
  prepareLeaseFolder,
  replaceRecordFile,
} from '../../../src/engine/leases/lease.ts';
import { isGroupAlive } from '../../../src/agent/processes/process-group.ts';
import { formatIdentity, identityOf, ownIdentity } from '../../../src/git/system/process-identity.ts';
import type { ProcessIdentity } from '../../../src/git/system/process-identity.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { newThreadId } from '../../../src/thread/new-thread-id.ts';
import { createRepositoryWithState } from '../../helpers/memory-repository.ts';

const thread = newThreadId(Date);
const other = newThreadId(Date);
const started: ChildProcess[] = [];
let repository: Repository;
let path: string;

beforeEach(async () => {
  repository = await createRepositoryWithState();
  path = leasePath(String(repository.stateDir), thread);
});

afterEach(() => {
  vi.useRealTimers();
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

/** Starts a process that leads a group of its own. */
async function startProcess(): Promise<ProcessIdentity> {
  const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  started.push(child);
  await once(child, 'spawn');
  return identityOf(Number(child.pid));
}

/** The identity of a process that has ended. */
async function endedProcess(): Promise<ProcessIdentity> {
  const identity = await startProcess();
  const child = started.pop();
  child?.kill('SIGKILL');
  if (child) await once(child, 'exit');
  return identity;
}

const elsewhere: ProcessIdentity = { host: 'elsewhere', bootId: 'abc', pidNamespace: '', pid: 1, startTime: '5' };

function recordOf(change: Partial<LeaseRecord> = {}): LeaseRecord {
  const nowMs = Date.now();
  const fields = { token: `token-${Math.random()}`, sinceMs: nowMs, deadlineMs: nowMs + 60_000, processGroups: [] };
  return { ...fields, holder: ownIdentity(), ...change };
}

function write(record: LeaseRecord, at: string = path): LeaseRecord {
  prepareLeaseFolder(dirname(at));
  if (!createRecordFile(at, record)) replaceRecordFile(at, record);
  return record;
}

describe('a lease', () => {
  test('names its holder and is taken by one', async () => {
    const lease = await takeLease(repository, thread);
    const found = findLease(repository, thread);
    expect(found).toMatchObject({ token: lease.token, holder: ownIdentity(), processGroups: [] });
    expect(found?.deadlineMs).toBe(Number(found?.sinceMs) + 60_000);
    const error: unknown = await takeLease(repository, thread).catch((raised: unknown) => raised);
    expect(error).toBeInstanceOf(LeaseHeld);
    expect(error).toMatchObject({ thread, code: 'lease-held', kind: 'conflict', holder: { pid: process.pid } });
    expect(String(error)).toContain(`process ${process.pid} on ${ownIdentity().host} since 20`);
    expect(String(error)).toMatch(/T\d\d:\d\d:\d\dZ$/);
    expect(error).toMatchObject({
      hint: `wait for it with 'uwf thread join ${thread}', or end it with 'uwf thread stop ${thread}'`,
    });
    expect(findRunning(repository)).toEqual([thread]);
    expect(findAbandoned(repository)).toEqual([]);
    expect(path).toBe(join(String(repository.stateDir), 'leases', `${thread}.json`));
  });

  test('is gone once it is released, and can be taken again', async () => {
    const lease = await takeLease(repository, thread);
    lease.release();
    expect(existsSync(path)).toBe(false);
    expect(findLease(repository, thread)).toBeUndefined();
    const next = await takeLease(repository, thread);
    expect(next.token).not.toBe(lease.token);
    // A second release is not of the lease that another one has by now.
    lease.release();
    expect(findLease(repository, thread)?.token).toBe(next.token);
    next.release();
  });

  test('names the process groups that work, until none does', async () => {
    const [first, second] = [await startProcess(), await startProcess()];
    const lease = await takeLease(repository, thread);
    lease.setProcessGroup(first.pid);
    lease.setProcessGroup(second.pid);
    lease.setProcessGroup(second.pid);
    expect(findLease(repository, thread)?.processGroups).toEqual([first, second]);
    process.kill(-first.pid, 'SIGKILL');
    await expect.poll(() => isGroupAlive(first.pid)).toBe(false);
    const third = await startProcess();
    lease.setProcessGroup(third.pid);
    expect(findLease(repository, thread)?.processGroups).toEqual([second, third]);
    lease.setProcessGroup(null);
    expect(findLease(repository, thread)?.processGroups).toEqual([]);
  });

  test('is renewed while it is held, and not after', async () => {
    vi.useFakeTimers();
    let nowMs = 1_000_000;
    const lease = await takeLease({ ...repository, now: () => nowMs }, thread);
    nowMs += 15_000;
    vi.advanceTimersByTime(15_000);
    expect(findLeaseRecord(repository, thread)).toMatchObject({ sinceMs: 1_000_000, deadlineMs: 1_075_000 });
    lease.release();
    nowMs += 15_000;
    vi.advanceTimersByTime(60_000);
    expect(findLeaseRecord(repository, thread)).toBeUndefined();
  });

  test('that was removed by hand is not written again', async () => {
    const lease = await takeLease(repository, thread);
    rmSync(path);
    lease.setProcessGroup(null);
    expect(existsSync(path)).toBe(false);
    const next = await takeLease(repository, thread);
    lease.setProcessGroup(null);
    expect(findLease(repository, thread)?.token).toBe(next.token);
  });

  test('leaves no other file behind', async () => {
    const lease = await takeLease(repository, thread);
    lease.setProcessGroup(null);
    expect(readdirSync(dirname(path))).toEqual([`${thread}.json`]);
  });

  test('of a repository without a disk is known to this process', async () => {
    const inMemory: Repository = { ...repository, stateDir: undefined };
    const lease = await takeLease(inMemory, thread);
    expect(findLease(inMemory, thread)?.token).toBe(lease.token);
    expect(findRunning(inMemory)).toEqual([thread]);
    expect(listLeases(inMemory)).toEqual([]);
    expect(findAbandoned(inMemory)).toEqual([]);
    expect(findLeasesOf(inMemory, ownIdentity())).toEqual([]);
    await expect(takeLease(inMemory, thread)).rejects.toThrow(LeaseHeld);
    lease.setProcessGroup(1);
    lease.handOver(1);
    lease.release();
    expect(inProcessLeases(inMemory).size).toBe(0);
  });

  test('of a slot names the thread that works in it', async () => {
    const slot = join(String(repository.stateDir), 'slots', '1.json');
    const taken = await takeLeaseFile(slot, Date.now, thread);
    expect(taken.kind).toBe('taken');
    expect(readLeaseRecord(slot)).toMatchObject({ thread });
    expect(await takeLeaseFile(slot, Date.now)).toMatchObject({ kind: 'held', by: { thread } });
  });
});

describe('a lease that is handed over', () => {
  test('is adopted with its token and by no other', async () => {
    const { token } = write(recordOf());
    await expect(takeLease(repository, thread, 'another token')).rejects.toMatchObject({ code: 'hand-over-failed' });
    const lease = await takeLease(repository, thread, token);
    expect(lease.token).toBe(token);
    lease.release();
    expect(existsSync(path)).toBe(false);
    await expect(takeLease(repository, thread, token)).rejects.toMatchObject({ code: 'hand-over-failed' });
  });

  test('is waited for while the process that took it lives', async () => {
    const holder = await startProcess();
    const record = write(recordOf({ holder }));
    const adopting = takeLease(repository, thread, record.token);
    setTimeout(() => replaceRecordFile(path, { ...record, holder: ownIdentity() }), 60);
    expect((await adopting).token).toBe(record.token);
  });

  test('is lost if that process ends first', async () => {
    const { token } = write(recordOf({ holder: await endedProcess() }));
    await expect(takeLease(repository, thread, token)).rejects.toMatchObject({ code: 'hand-over-failed' });
    writeFileSync(path, 'no lease');
    await expect(takeLease(repository, thread, token)).rejects.toMatchObject({ code: 'hand-over-failed' });
  });

  test('has the other process as its holder, and is not renewed here', async () => {
    vi.useFakeTimers();
    const lease = await takeLease(repository, thread);
    const next = await startProcess();
    lease.handOver(next.pid);
    const before = findLeaseRecord(repository, thread);
    expect(before).toMatchObject({ token: lease.token, holder: next });
    vi.advanceTimersByTime(60_000);
    expect(findLeaseRecord(repository, thread)).toEqual(before);
  });
});

describe('the lease of a process that has ended', () => {
  test('is found as abandoned, not as held', async () => {
    const holder = await endedProcess();
    write(recordOf({ holder }));
    write(recordOf({ holder }), leasePath(String(repository.stateDir), other));
    for (const name of ['no-thread.json', `${newThreadId(Date)}.temp`]) {
      writeFileSync(join(dirname(path), name), '{}');
    }
    expect(findLease(repository, thread)).toBeUndefined();
    expect(findLeaseRecord(repository, thread)).toMatchObject({ holder });
    expect(findAbandoned(repository).toSorted()).toEqual([thread, other].toSorted());
    expect(findRunning(repository)).toEqual([]);
    expect(findLeasesOf(repository, holder)).toHaveLength(2);
    expect(findLeasesOf(repository, { ...holder, startTime: '1' })).toEqual([]);
    expect(findLeasesOf(repository, { ...holder, pid: 1 })).toEqual([]);
    expect(listLeases(repository).toSorted()).toEqual([thread, other].toSorted());
    expect(findLeasesOf(repository, ownIdentity())).toEqual([]);
  });

  test('is taken over once its process groups have been ended', async () => {
    const group = await startProcess();
    write(recordOf({ holder: await endedProcess(), processGroups: [group] }));
    const lease = await takeLease(repository, thread);
    expect(isGroupAlive(group.pid)).toBe(false);
    expect(findLease(repository, thread)).toMatchObject({ token: lease.token, processGroups: [] });
    expect(readdirSync(dirname(path))).toEqual([`${thread}.json`]);
  });

  test('is taken over although its group was on another host', async () => {
    write(recordOf({ holder: await endedProcess(), processGroups: [elsewhere] }));
    expect((await takeLease(repository, thread)).token).toBe(findLease(repository, thread)?.token);
  });

  test('is left alone while another process claims it', async () => {
    const claimant = await startProcess();
    const dead = write(recordOf({ holder: await endedProcess() }));
    const claim = write(recordOf({ holder: claimant }), `${path}.claim-${dead.token}`);
    const outcome = await takeOverLease(path, dead, recordOf(), Date.now());
    expect(outcome).toMatchObject({ kind: 'held', by: { token: claim.token } });
    expect(existsSync(`${path}.claim-${dead.token}`)).toBe(true);
    await expect(takeLease(repository, thread)).rejects.toThrow(`process ${claimant.pid}`);
  });

  test.each(['dead', 'torn'])('is taken over from a claimant that is %s', async (kind) => {
    const dead = write(recordOf({ holder: await endedProcess() }));
    const claim = `${path}.claim-${dead.token}`;
    if (kind === 'torn') writeFileSync(claim, 'torn');
    else write(recordOf({ holder: await endedProcess() }), claim);
    const record = recordOf();
    expect(await takeOverLease(path, dead, record, Date.now())).toEqual({ kind: 'taken' });
    expect(findLease(repository, thread)?.token).toBe(record.token);
    expect(readdirSync(dirname(path))).toEqual([`${thread}.json`]);
  });

  test('is not displaced once it has changed, and void claims go with a lease that is', async () => {
    const holder = await endedProcess();
    const dead = write(recordOf({ holder }));
    const now = write(recordOf({ holder }));
    expect(await takeOverLease(path, dead, recordOf(), Date.now())).toEqual({ kind: 'changed' });
    expect(findLeaseRecord(repository, thread)?.token).toBe(now.token);
    write(recordOf({ holder }), `${path}.claim-of-a-lease-long-gone`);
    expect(await takeOverLease(path, now, recordOf(), Date.now())).toEqual({ kind: 'taken' });
    expect(readdirSync(dirname(path))).toEqual([`${thread}.json`]);
    rmSync(path);
    expect(await takeOverLease(path, now, recordOf(), Date.now())).toEqual({ kind: 'changed' });
  });
});

describe('a holder', () => {
  test('on another host counts as alive until its deadline', () => {
    const record = recordOf({ holder: elsewhere, deadlineMs: 1000 });
    expect(isHolderAlive(record, 999)).toBe(true);
    expect(isHolderAlive(record, 1000)).toBe(false);
  });

  test('on this host counts as alive while its process runs, whatever its deadline', async () => {
    expect(isHolderAlive(recordOf({ deadlineMs: 0 }), 1000)).toBe(true);
    expect(isHolderAlive(recordOf({ holder: await endedProcess() }), 0)).toBe(false);
  });
});

describe('a lease file', () => {
  const sound = recordOf();
  const damages: [string, object][] = [
    ['token', { ...sound, token: 1 }],
    ['start', { ...sound, sinceMs: 'now' }],
    ['deadline', { ...sound, deadlineMs: null }],
    ['holder', { ...sound, holder: { pid: 'one', host: 'here' } }],
    ['host', { ...sound, holder: { pid: 1 } }],
    ['list of groups', { ...sound, processGroups: {} }],
    ['group', { ...sound, processGroups: [{ pid: 1 }] }],
  ];

  test.each(damages)('with another kind of %s is unreadable', (_, record) => {
    prepareLeaseFolder(dirname(path));
    writeFileSync(path, JSON.stringify(record));
    expect(readLeaseRecord(path)).toBe('unreadable');
  });

  test('is created once, and read as it was written', () => {
    prepareLeaseFolder(dirname(path));
    expect(readLeaseRecord(path)).toBeUndefined();
    expect(createRecordFile(path, sound)).toBe(true);
    expect(createRecordFile(path, recordOf())).toBe(false);
    expect(readLeaseRecord(path)).toEqual(sound);
  });

  test('that is unreadable may be held for a minute after it was written', () => {
    prepareLeaseFolder(dirname(path));
    expect(mayBeHeld(path)).toBe(false);
    writeFileSync(path, 'torn');
    expect(mayBeHeld(path)).toBe(true);
    // It was written before the clock was set back.
    for (const seconds of [-61, 61]) {
      const then = Date.now() / 1000 + seconds;
      utimesSync(path, then, then);
      expect(mayBeHeld(path)).toBe(false);
    }
  });

  test('that was not finished is removed if its writer has ended', async () => {
    const folder = dirname(path);
    prepareLeaseFolder(folder);
    const nameOf = (writer: ProcessIdentity): string => `tmp_${formatIdentity(writer)}@0123abcd`;
    const [dead, far, farAndOld] = [await endedProcess(), elsewhere, { ...elsewhere, pid: 2 }];
    const names = [dead, far, farAndOld, ownIdentity()].map(nameOf);
    // Files of other programs, whatever their names begin or end like.
    const others = ['tmp_nobody@0123abcd', `x${nameOf(dead)}`, `${nameOf(dead)}.x`];
    for (const name of [...names, ...others]) writeFileSync(join(folder, name), '');
    const longAgo = Date.now() / 1000 - 3601;
    utimesSync(join(folder, nameOf(farAndOld)), longAgo, longAgo);
    prepareLeaseFolder(folder);
    expect(readdirSync(folder).toSorted()).toEqual([nameOf(far), nameOf(ownIdentity()), ...others].toSorted());
  });
});

test('the status of a thread says whether a process works on it, or died over it', async () => {
  expect(statusHere(repository, thread, 'idle')).toBe('idle');
  const lease = await takeLease(repository, thread);
  expect(statusHere(repository, thread, 'idle')).toBe('running');
  expect(statusHere(repository, thread, 'suspended')).toBe('running');
  expect(statusHere(repository, thread, 'ended')).toBe('ended');
  lease.release();
  write(recordOf({ holder: await endedProcess() }));
  expect(statusHere(repository, thread, 'idle')).toBe('interrupted');
  expect(statusHere(repository, thread, 'suspended')).toBe('suspended');
});
