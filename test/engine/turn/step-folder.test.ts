import { spawn, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runningProcesses } from '../../../src/agent/processes/process-group.ts';
import { clearLeftSteps, makeStepFolder } from '../../../src/engine/turn/step-folder.ts';
import { formatIdentity, ownIdentity } from '../../../src/git/system/process-identity.ts';
import { newThreadId } from '../../../src/thread/new-thread-id.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

/** Starts a program in a session of its own, as an agent of a step does. */
function startIn(stepDir: string): number {
  const child = spawn('sleep', ['600'], { detached: true, env: { ...process.env, UWF_STEP_DIR: stepDir } });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child.pid ?? 0;
}

const isRunning = (pid: number): boolean => runningProcesses()?.some((process) => process.pid === pid) ?? false;

/** A process that has ended. */
function deadProcess(): string {
  const child = spawnSync(process.execPath, ['-e', '']);
  return formatIdentity({ ...ownIdentity(), pid: child.pid, startTime: '1' });
}

test('what a killed step of a thread left is removed and ended, and nothing of another thread or a step at work', async () => {
  const repository = await createTemporaryRepository().open();
  const [killed, other] = [newThreadId({ now: () => 1 }), newThreadId({ now: () => 2 })];
  // Before there is a folder for steps.
  await clearLeftSteps(repository, (each) => each === killed);
  const folders = [killed, other, killed].map((thread) => makeStepFolder(repository, thread, {}));
  for (const folder of folders.slice(0, 2)) writeFileSync(join(folder, 'holder'), deadProcess());
  const pids = folders.map(startIn);
  await clearLeftSteps(repository, (each) => each === killed);
  expect(pids.map(isRunning)).toEqual([false, true, true]);
  expect(folders.map((folder) => existsSync(folder))).toEqual([false, true, true]);
});
