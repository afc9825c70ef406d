import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

import { endStrays, findStrays, runningProcesses } from '../../../src/agent/processes/process-group.ts';
import { temporaryFolder } from '../../helpers/agent-request.ts';

/**
 * A shell in a group of its own that has a program run in a session of that program's own. That program ignores SIGTERM and
 * starts another one as often as it can. Where the shell is to end first it has ended.
 */
async function startStray(stepDir: string, rest: 'wait' | 'exit'): Promise<{ leader: number; stray: number }> {
  const script = `setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 20 & sleep 0.02; done' & ${rest}`;
  const env = { PATH: process.env['PATH'] ?? '', UWF_STEP_DIR: stepDir };
  const child = spawn('sh', ['-c', script], { detached: true, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const hasEnded = rest === 'exit' ? once(child, 'exit') : undefined;
  const stray = await new Promise<number>((resolve) => child.stdout.once('data', (data) => resolve(Number(data))));
  await hasEnded;
  return { leader: child.pid ?? 0, stray };
}

function isRunning(pid: number): boolean {
  return runningProcesses()?.some((process) => process.pid === pid) ?? false;
}

test.each([
  ['whose ancestor still runs', 'wait' as const],
  ['whose ancestor has ended', 'exit' as const],
])('a process in a session of its own %s is found and ended, though it ignores SIGTERM', async (_, rest) => {
  const stepDir = temporaryFolder();
  const { leader, stray } = await startStray(stepDir, rest);
  const found = findStrays(leader, stepDir);
  expect(found.map(({ pid }) => pid)).toContain(stray);
  await endStrays(found, leader, stepDir, 50);
  expect(isRunning(stray)).toBe(false);
  expect(findStrays(leader, stepDir)).toEqual([]);
});

test('processes of another step, and those in the group itself, are no strays', async () => {
  const stepDir = temporaryFolder();
  const { leader, stray } = await startStray(stepDir, 'exit');
  expect(findStrays(leader, temporaryFolder()).map(({ pid }) => pid)).not.toContain(stray);
  expect(findStrays(stray, stepDir).map(({ pid }) => pid)).not.toContain(stray);
  await endStrays(findStrays(leader, stepDir), leader, stepDir, 0);
  expect(isRunning(stray)).toBe(false);
});

test('a process that has got the number of one that is gone is left alone', async () => {
  const { leader, stray } = await startStray(temporaryFolder(), 'exit');
  await endStrays([{ pid: stray, startTime: '1' }], leader, temporaryFolder(), 0);
  expect(isRunning(stray)).toBe(true);
  process.kill(stray, 'SIGKILL');
  expect(leader).toBeGreaterThan(0);
});
