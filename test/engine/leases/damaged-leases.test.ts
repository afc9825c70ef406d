import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { LeaseDamaged } from '../../../src/engine/engine-errors.ts';
import { findAbandoned, findLease, findRunning, leasePath, statusHere } from '../../../src/engine/leases/find-lease.ts';
import { LeaseHeld, takeLease, type Lease } from '../../../src/engine/leases/lease.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { newThreadId } from '../../../src/thread/new-thread-id.ts';
import { createRepositoryWithState } from '../../helpers/memory-repository.ts';

const thread = newThreadId(Date);
let repository: Repository;
let file: string;
let lease: Lease;

beforeEach(async () => {
  repository = await createRepositoryWithState();
  file = leasePath(String(repository.stateDir), thread);
  lease = await takeLease(repository, thread);
});

const damages: [string, () => void][] = [
  ['is cut off', () => writeFileSync(file, readFileSync(file).subarray(0, 50))],
  ['is empty', () => writeFileSync(file, '')],
  ['has no holder', () => writeFileSync(file, readFileSync(file, 'utf8').replace('"pid":', '"id":'))],
  ['is a folder', () => (rmSync(file), mkdirSync(path.join(file, 'deep'), { recursive: true }))],
];

describe.each(damages)('a lease that %s', (_, damage) => {
  test('is neither believed nor displaced while its holder may live', async () => {
    damage();
    expect(() => findLease(repository, thread)).toThrow(LeaseDamaged);
    await expect(takeLease(repository, thread)).rejects.toThrow('is damaged');
  });

  test('counts as that of a process at work where something is only shown', () => {
    damage();
    expect(findRunning(repository)).toEqual([thread]);
    expect(findAbandoned(repository)).toEqual([]);
    expect(statusHere(repository, thread, 'idle')).toBe('running');
  });

  test('is written anew by its holder', () => {
    damage();
    // What the timer does as well.
    lease.setProcessGroup(null);
    expect(findLease(repository, thread)).toMatchObject({ token: lease.token });
  });

  test('is taken over when nobody has renewed it for a minute', async () => {
    damage();
    const longAgo = Date.now() / 1000 - 61;
    utimesSync(file, longAgo, longAgo);
    expect(findLease(repository, thread)).toBeUndefined();
    const next = await takeLease(repository, thread);
    expect(findLease(repository, thread)).toMatchObject({ token: next.token });
    // Who wakes late finds another's.
    lease.setProcessGroup(null);
    lease.release();
    await expect(takeLease(repository, thread)).rejects.toThrow(LeaseHeld);
  });
});
