import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';

import { endProcessGroup } from '../../../src/agent/processes/process-group.ts';
import { descendantsOf, runningProcesses } from '../../../src/agent/processes/process-table.ts';
import { fixtureAgent } from '../../helpers/agent-request.ts';

test('a grandchild is found below its grandparent, in the group of its parent', async () => {
  const child = spawn(process.execPath, [fixtureAgent('fork-grandchild.js'), 'hang.js', 'stay'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const pid = child.pid ?? 0;
  onTestFinished(async () => void (await endProcessGroup(pid, 0)));
  const [line] = (await once(child.stdout, 'data')) as [Buffer]; // 'data' has one argument
  const grandchild = Number(/\d+/u.exec(line.toString())?.[0]);

  expect(descendantsOf(pid)).toEqual([grandchild]);
  expect(descendantsOf(process.pid)).toEqual(expect.arrayContaining([pid, grandchild]));
  expect(runningProcesses()).toContainEqual({ pid: grandchild, parent: pid, group: pid });
  expect(runningProcesses()).toContainEqual(expect.objectContaining({ pid: process.pid, parent: process.ppid }));
});
