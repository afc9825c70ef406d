import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatIdentity, isAlive, ownIdentity, parseIdentity } from '../../../src/git/system/process-identity.ts';

describe('the identity of a process', () => {
  test('this process is alive', () => {
    expect(isAlive(ownIdentity())).toBe(true);
  });

  test('what is written is read again, whatever the host is called', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 64 }), fc.integer({ min: 1, max: 4194304 }), (host, pid) => {
        const identity = { ...ownIdentity(), host, pid };
        const text = formatIdentity(identity);
        expect(text).not.toMatch(/[/@\s]/);
        expect(parseIdentity(text)).toEqual(identity);
      }),
    );
  });

  test.each(['', 'x', '1.2.3', '0.1.a.1.h', '1.2.zz.1.h', '1.2.a.1.a/b', '1.2.a.1.%'])('%j is no identity', (text) => {
    expect(parseIdentity(text)).toBeUndefined();
  });

  test('a process that has ended is not alive, though its parent has not asked for its end', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await once(child, 'spawn');
    const identity = identityOfPid(child.pid);
    expect(isAlive(identity)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isAlive(identity)).toBe(false);
  });

  test('a pid that was given to another process does not make the first one alive', () => {
    expect(isAlive({ ...ownIdentity(), startTime: '1' })).toBe(false);
  });

  test('a machine that is called something else now is still the same', () => {
    expect(isAlive({ ...ownIdentity(), host: 'as-it-was-called' })).toBe(true);
    expect(isAlive({ ...ownIdentity(), host: 'as-it-was-called', startTime: '1' })).toBe(false);
  });

  test('a process of an earlier boot is dead, one of another machine or container unknown', () => {
    expect(isAlive({ ...ownIdentity(), bootId: '0'.repeat(32) })).toBe(false);
    expect(isAlive({ ...ownIdentity(), host: 'elsewhere', bootId: '0'.repeat(32) })).toBe('other-host');
    expect(isAlive({ ...ownIdentity(), pidNamespace: '1' })).toBe('other-host');
  });
});

function identityOfPid(pid: number | undefined): ReturnType<typeof ownIdentity> {
  if (pid === undefined) throw new Error('the child did not start');
  const stat = readStat(pid);
  return { ...ownIdentity(), pid, startTime: stat };
}

function readStat(pid: number): string {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
