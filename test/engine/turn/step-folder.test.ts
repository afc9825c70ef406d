import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runningProcesses } from '../../../src/agent/processes/process-table.ts';
import { clearLeftSteps, makeStepFolder } from '../../../src/engine/turn/step-folder.ts';
import { newThreadId } from '../../../src/thread/new-thread-id.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

/** Starts a program in a session of its own, as an agent of a step does. */
function startIn(stepDir: string): number {
  const child = spawn('sleep', ['600'], { detached: true, env: { ...process.env, UWF_STEP_DIR: stepDir } });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child.pid ?? 0;
}

const isRunning = (pid: number): boolean => runningProcesses()?.some((process) => process.pid === pid) ?? false;

test('what a killed step of a thread left is removed and ended, and nothing of another thread', async () => {
  const repository = await createTemporaryRepository().open();
  // Before there is a folder for steps.
  await clearLeftSteps(repository, newThreadId(1));
  const [killed, other] = [newThreadId(1), newThreadId(2)];
  const folders = [killed, other].map((thread) => makeStepFolder(repository, thread, {}));
  const [left = 0, kept = 0] = folders.map(startIn);
  await clearLeftSteps(repository, killed);
  expect([left, kept].map(isRunning)).toEqual([false, true]);
  expect(readdirSync(join(repository.stateDir ?? '', 'steps'))).toEqual([folders[1]?.split('/').at(-1)]);
});
