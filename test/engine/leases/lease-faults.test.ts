import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { findLease, leasePath, readLeaseRecord, type LeaseRecord } from '../../../src/engine/leases/find-lease.ts';
import {
  LeaseHeld,
  takeLease,
  takeOverLease,
  createRecordFile,
  prepareLeaseFolder,
  replaceRecordFile,
} from '../../../src/engine/leases/lease.ts';
import { StorageFull, StorageReadOnly, TooManyOpenFiles } from '../../../src/git/format/errors.ts';
import { ownIdentity } from '../../../src/git/system/process-identity.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { newThreadId } from '../../../src/thread/new-thread-id.ts';
import { failFs, type Failure } from '../../helpers/failing-fs.ts';
import { createRepositoryWithState } from '../../helpers/memory-repository.ts';

const thread = newThreadId(Date);
const name = `${thread}.json`;
let repository: Repository;
let path: string;
let folder: string;

beforeEach(async () => {
  const created = await createRepositoryWithState();
  repository = created;
  path = leasePath(created.stateDir, thread);
  folder = dirname(path);
  prepareLeaseFolder(folder);
});

function recordOf(token: string, change: Partial<LeaseRecord> = {}): LeaseRecord {
  return { token, holder: ownIdentity(), sinceMs: 1, deadlineMs: 2, processGroups: [], ...change };
}

/** A process that has ended: of its pid, one runs that started at another time. */
const ended = { ...ownIdentity(), startTime: '1' };

describe('where writing fails, nothing is left behind', () => {
  test('by a lease that cannot be created', async () => {
    failFs('writeFileSync', { code: 'ENOSPC', isDone: true });
    expect(() => createRecordFile(path, recordOf('a'))).toThrow(StorageFull);
    await expect(takeLease(repository, thread)).rejects.toThrow(StorageFull);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('by a lease that cannot be put in place', () => {
    failFs('linkSync', { code: 'EACCES' });
    expect(() => createRecordFile(path, recordOf('a'))).toThrow(StorageReadOnly);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('by a lease that cannot be replaced, and the old one stays', () => {
    createRecordFile(path, recordOf('old'));
    failFs('renameSync', { code: 'EROFS' });
    expect(() => replaceRecordFile(path, recordOf('new'))).toThrow(StorageReadOnly);
    expect(readLeaseRecord(path)).toEqual(recordOf('old'));
    expect(readdirSync(folder)).toEqual([name]);
  });

  test('by a folder that cannot be made', () => {
    failFs('mkdirSync', { code: 'EROFS' });
    expect(() => prepareLeaseFolder(join(folder, 'new'))).toThrow(StorageReadOnly);
  });
});

test('a lease that this process cannot open for lack of descriptors is not taken for damaged', () => {
  createRecordFile(path, recordOf('a'));
  failFs('openSync', { code: 'EMFILE' });
  expect(() => readLeaseRecord(path)).toThrow(TooManyOpenFiles);
});

describe('on a full disk, a holder', () => {
  test('must not go on with a process group that it could not write down', async () => {
    const lease = await takeLease(repository, thread);
    failFs('writeFileSync', { code: 'ENOSPC' });
    expect(() => lease.setProcessGroup(process.pid)).toThrow(StorageFull);
    expect(() => lease.handOver(process.pid)).toThrow(StorageFull);
  });

  test('goes on when it cannot write that no group works any more', async () => {
    const lease = await takeLease(repository, thread);
    failFs('writeFileSync', { code: 'ENOSPC' });
    expect(() => lease.setProcessGroup(null)).not.toThrow();
    expect(findLease(repository, thread)?.token).toBe(lease.token);
  });

  test('releases its lease without an error where nothing can be removed', async () => {
    const lease = await takeLease(repository, thread);
    failFs('rmSync', { code: 'EROFS' });
    expect(() => lease.release()).not.toThrow();
  });

  test('releases its lease later where nothing could be removed for a while', async () => {
    const lease = await takeLease(repository, thread);
    failFs('rmSync', { code: 'EROFS', where: (at) => at === path, times: 1 });
    lease.release();
    await expect(takeLease(repository, thread)).rejects.toThrow(LeaseHeld);
    await expect.poll(() => existsSync(path), { timeout: 10_000 }).toBe(false);
    expect((await takeLease(repository, thread)).token).not.toBe(lease.token);
  });

  test('releases a lease that was removed by hand without an error', async () => {
    const lease = await takeLease(repository, thread);
    rmSync(path);
    expect(() => lease.release()).not.toThrow();
  });
});

describe('between two looks at a lease', () => {
  test('its holder may release it: then it is free', async () => {
    failFs('linkSync', { code: 'EEXIST', where: (at) => at === path, times: 1 });
    expect((await takeLease(repository, thread)).token).toBe(findLease(repository, thread)?.token);
  });

  test('another process may end its claim on it: then the lease is read again', async () => {
    createRecordFile(path, recordOf('dead', { holder: ended }));
    const noClaim: Failure = { code: 'EEXIST', where: (at) => at.includes('.claim-'), times: 1 };
    failFs('linkSync', noClaim);
    const dead = recordOf('dead', { holder: ended });
    expect(await takeOverLease(path, dead, recordOf('new'), Date.now())).toEqual({ kind: 'changed' });
    failFs('linkSync', noClaim);
    expect((await takeLease(repository, thread)).token).toBe(findLease(repository, thread)?.token);
    expect(readdirSync(folder)).toEqual([name]);
  });
});

describe('a claim on the lease of a process that has ended', () => {
  test.each([
    ['has ended too', `${JSON.stringify(recordOf('next', { holder: ended }))}\n`, 'next'],
    ['was torn', 'torn', 'dead-torn'],
  ])('is itself claimed by one process where its claimant %s', async (_, claim, token) => {
    createRecordFile(path, recordOf('dead', { holder: ended }));
    writeFileSync(`${path}.claim-dead`, claim);
    createRecordFile(`${path}.claim-${token}`, recordOf('alive'));
    await expect(takeLease(repository, thread)).rejects.toThrow(`process ${process.pid}`);
    expect(existsSync(`${path}.claim-${token}`)).toBe(true);
    expect(readLeaseRecord(path)).toMatchObject({ token: 'dead' });
  });

  test('gives nothing while the agent of that process may still work', async () => {
    // The machine was renamed since: it cannot be told whose group it is.
    const group = { ...ownIdentity(), host: 'renamed' };
    createRecordFile(path, recordOf('dead', { holder: ended, processGroups: [group] }));
    await expect(takeLease(repository, thread)).rejects.toThrow(`process ${process.pid}`);
    expect(readdirSync(folder)).toEqual([name]);
  });
});
