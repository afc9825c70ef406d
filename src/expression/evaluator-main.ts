import { createInterface } from 'node:readline';

import { evaluateHere } from './evaluate-here.ts';
import type { EvaluatorAnswer, EvaluatorRequest } from './evaluator-protocol.ts';
import { carryError } from './evaluator-protocol.ts';
import { growScope, received } from './growing-scope.ts';
import type { Scope } from './scope.ts';
import { stillClock } from './still-clock.ts';

// The program of the evaluator child: reads requests from stdin, answers on stdout, ends when stdin does. One that is busy then
// ends at its limit of processor time, which its parent has set.

let scope: Scope = { input: null, bindings: {} };
let mayVary = false;

async function answer(request: EvaluatorRequest): Promise<EvaluatorAnswer> {
  if (request.kind !== 'evaluate') {
    scope = request.kind === 'scope' ? received(request) : growScope(scope, request.growth);
    return { kind: 'ready' };
  }
  try {
    mayVary = request.task.mayVary;
    const value = await evaluateHere(request.task, scope);
    return value === undefined ? { kind: 'value' } : { kind: 'value', value };
  } catch (error) {
    return { kind: 'error', error: carryError(error) };
  }
}

async function main(): Promise<void> {
  // Ctrl-C at a terminal reaches the whole group; the parent decides what becomes of this process.
  process.on('SIGINT', () => {});
  stillClock(() => !mayVary);
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    // Only the parent writes to stdin, and only requests.
    process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line) as EvaluatorRequest))}\n`);
  }
  process.exit(0);
}

void main();
