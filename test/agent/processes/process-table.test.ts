import { spawn } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';

import { descendantsOf, endProcessGroup, runningProcesses } from '../../../src/agent/processes/process-group.ts';
import { fixtureAgent } from '../../helpers/agent-request.ts';

test('a grandchild is found below its grandparent, in the group of its parent', async () => {
  const child = spawn(process.execPath, [fixtureAgent('fork-grandchild.js'), 'hang.js', 'stay'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const pid = child.pid ?? 0;
  onTestFinished(async () => void (await endProcessGroup(pid, 0)));
  // The grandchild writes to the same pipe, and may be first.
  let said = '';
  child.stdout.on('data', (data) => (said += String(data)));
  await expect.poll(() => said).toMatch(/grandchild \d+\n/u);
  const grandchild = Number(/grandchild (\d+)\n/u.exec(said)?.[1]);

  expect(descendantsOf(pid)).toEqual([grandchild]);
  expect(descendantsOf(process.pid)).toEqual(expect.arrayContaining([pid, grandchild]));
  expect(runningProcesses()).toContainEqual({ pid: grandchild, parent: pid, group: pid });
  expect(runningProcesses()).toContainEqual(expect.objectContaining({ pid: process.pid, parent: process.ppid }));
});
