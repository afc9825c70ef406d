import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';

import { endGroupLedBy, endProcessGroup, isGroupAlive } from '../../../src/agent/processes/process-group.ts';
import { identityOf } from '../../../src/git/system/process-identity.ts';
import { fixtureAgent } from '../../helpers/agent-request.ts';

async function startGroup(...args: [string, ...string[]]): Promise<{ pgid: number; exited: Promise<unknown[]> }> {
  const [name, ...rest] = args;
  const child = spawn(process.execPath, [fixtureAgent(name), ...rest], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  const pgid = child.pid ?? 0;
  onTestFinished(async () => void (await endProcessGroup(pgid, 0)));
  return { pgid, exited };
}

describe('endProcessGroup', () => {
  test('ends a process that takes the hint, by SIGTERM', async () => {
    const { pgid, exited } = await startGroup('hang.js');
    expect(isGroupAlive(pgid)).toBe(true);

    expect(await endProcessGroup(pgid, 10_000)).toBe(true);

    expect(isGroupAlive(pgid)).toBe(false);
    expect(await exited).toEqual([null, 'SIGTERM']);
  });

  test('kills a process that ignores SIGTERM when the grace time is over', async () => {
    const { pgid, exited } = await startGroup('ignore-sigterm.js');

    expect(await endProcessGroup(pgid, 50)).toBe(true);

    expect(isGroupAlive(pgid)).toBe(false);
    expect(await exited).toEqual([null, 'SIGKILL']);
  });

  test('ends a grandchild whose parent, the leader, is long gone', async () => {
    const { pgid, exited } = await startGroup('fork-grandchild.js', 'ignore-sigterm.js');
    await exited;
    expect(isGroupAlive(pgid)).toBe(true);

    expect(await endProcessGroup(pgid, 50)).toBe(true);

    expect(isGroupAlive(pgid)).toBe(false);
  });

  test('ends a process that is stopped', async () => {
    const { pgid } = await startGroup('hang.js');
    process.kill(pgid, 'SIGSTOP');

    expect(await endProcessGroup(pgid, 10_000)).toBe(true);

    expect(isGroupAlive(pgid)).toBe(false);
  });

  test.each([0, 1, -1, 1.5, Number.NaN])('never takes %d for a group', async (pgid) => {
    expect(isGroupAlive(pgid)).toBe(false);
    expect(await endProcessGroup(pgid, 0)).toBe(true);
  });
});

describe('endGroupLedBy', () => {
  test('ends the group of the very process that was written down, led by it or left by it', async () => {
    const { pgid, exited } = await startGroup('fork-grandchild.js', 'hang.js');
    const leader = identityOf(pgid);
    await exited;
    expect(isGroupAlive(pgid)).toBe(true);

    expect(await endGroupLedBy(leader, 10_000)).toBe(true);

    expect(isGroupAlive(pgid)).toBe(false);
  });

  test.each([
    ['the pid is now that of a later process', { startTime: '1' }, true],
    ['the machine has booted since', { bootId: '0'.repeat(32) }, true],
    ['it is a group of another machine', { host: 'elsewhere.example' }, false],
    ['it is a group of another container', { pidNamespace: '1' }, false],
  ])('signals nobody where %s', async (_, difference, isGone) => {
    const { pgid } = await startGroup('hang.js');

    expect(await endGroupLedBy({ ...identityOf(pgid), ...difference }, 0)).toBe(isGone);

    expect(isGroupAlive(pgid)).toBe(true);
  });
});

test('a zombie that nobody collects does not count as alive', async () => {
  // The shell becomes a program that never waits for the child it already has, which leads a group of its own.
  const parent = spawn('sh', ['-c', 'setsid sleep 0.01 & echo $!; exec sleep 60'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(async () => void (await endProcessGroup(parent.pid ?? 0, 0)));
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const zombie = Number(line.toString());

  const stateOf = (pid: number): string => readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2] ?? '';
  await expect.poll(() => stateOf(zombie)).toBe('Z');

  // It is still there: signal 0 reaches its group.
  expect(() => process.kill(-zombie, 0)).not.toThrow();
  expect(isGroupAlive(zombie)).toBe(false);
});
