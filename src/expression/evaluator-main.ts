import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';

import type { EvaluationTask } from './evaluate-here.ts';
import { evaluateHere } from './evaluate-here.ts';
import type { EvaluatorAnswer, EvaluatorRequest } from './evaluator-protocol.ts';
import { GRACE_MS, MAX_STRETCH, carryError } from './evaluator-protocol.ts';
import { growScope, received } from './growing-scope.ts';
import type { Scope } from './scope.ts';
import { stillClock } from './still-clock.ts';

// The program of the evaluator child: reads requests from stdin, answers on stdout, ends when stdin does.

/** Kills the process when a number of ms passes without another message: nothing else ends it once its parent is dead. */
const WATCHDOG = `
  const { parentPort } = require('node:worker_threads');
  let timer;
  parentPort.on('message', (limitMs) => {
    clearTimeout(timer);
    if (limitMs > 0) timer = setTimeout(() => process.kill(process.pid, 'SIGKILL'), limitMs);
  });
`;

let scope: Scope = { input: null, bindings: {} };
let mayVary = false;
let watchdog: Worker | undefined;

async function answer(request: EvaluatorRequest): Promise<EvaluatorAnswer> {
  if (request.kind !== 'evaluate') {
    scope = request.kind === 'scope' ? received(request) : growScope(scope, request.growth);
    return { kind: 'ready' };
  }
  try {
    const value = await evaluateWatched(request.task);
    return value === undefined ? { kind: 'value' } : { kind: 'value', value };
  } catch (error) {
    return { kind: 'error', error: carryError(error) };
  }
}

async function evaluateWatched(task: EvaluationTask): ReturnType<typeof evaluateHere> {
  mayVary = task.mayVary;
  // Later than the parent, whose word it is while it lives.
  setWatchdog((task.timeoutMs + GRACE_MS) * MAX_STRETCH + GRACE_MS);
  try {
    return await evaluateHere(task, scope);
  } finally {
    setWatchdog(0);
  }
}

function setWatchdog(limitMs: number): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
  watchdog?.postMessage(limitMs);
}

async function main(): Promise<void> {
  // Ctrl-C at a terminal reaches the whole group; the parent decides what becomes of this process.
  process.on('SIGINT', () => {});
  stillClock(() => !mayVary);
  watchdog = new Worker(WATCHDOG, { eval: true });
  watchdog.unref();
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    // Only the parent writes to stdin, and only requests.
    process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line) as EvaluatorRequest))}\n`);
  }
  process.exit(0);
}

void main();
