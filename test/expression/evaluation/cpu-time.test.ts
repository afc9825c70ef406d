import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { cpuTimeOf, startTimeBox } from '../../../src/expression/evaluation/evaluate-here.ts';
import { EvaluatorChild } from '../../../src/expression/evaluation/evaluator-child.ts';

/** Keeps this process from working, as a machine does that gives its processors to others. */
function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('a time box grows with the time in which the process did not work, and not with that in which it did', () => {
  const waiting = startTimeBox(50);
  wait(300);
  expect(waiting()).toBeGreaterThan(200);
  const working = startTimeBox(50);
  const before = process.cpuUsage();
  const startedMs = performance.now();
  const usedMs = (): number => (process.cpuUsage(before).user + process.cpuUsage(before).system) / 1000;
  while (usedMs() < 200);
  expect(working()).toBeLessThan(performance.now() - startedMs);
});

test.runIf(process.platform === 'linux')(
  'an evaluation in a child that is stopped for a while comes to its value',
  async () => {
    const child = new EvaluatorChild();
    const task = { source: '1 + 1', timeoutMs: 300, wanted: 'value' as const, mayVary: false };
    const scope = { input: null, bindings: {} };
    expect(await child.evaluate(task, scope)).toBe(2);
    const { pid } = child;
    process.kill(pid!, 'SIGSTOP');
    const late = child.evaluate(task, scope);
    setTimeout(() => process.kill(pid!, 'SIGCONT'), 1500);
    expect(await late).toBe(2);
    child.close();
  },
);

test.runIf(process.platform === 'linux')('the processor time of a process is told, and of none nothing', async () => {
  const busy = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
  await expect.poll(() => cpuTimeOf(busy.pid!) ?? 0, { timeout: 60_000 }).toBeGreaterThan(100);
  busy.kill('SIGKILL');
  await new Promise((resolve) => busy.once('exit', resolve));
  expect(cpuTimeOf(busy.pid!)).toBeUndefined();
});
