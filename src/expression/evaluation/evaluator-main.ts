import { createInterface } from 'node:readline';

import { evaluateHere } from './evaluate-here.ts';
import { carryError, growScope, received, type EvaluatorAnswer, type EvaluatorRequest } from './evaluator-protocol.ts';
import type { Scope } from './scope.ts';

// The program of the evaluator child: reads requests from stdin, answers on stdout, and ends when stdin ends. A busy child
// ends at the limit of processor time that its parent has set.

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

/**
 * Replaces `Date` so that `new Date()` is always the epoch, while `isStill()` says so.
 *
 * JSONata's `$toMillis` with a picture fills what the picture leaves out from the current date, which no static check can
 * see; a decision must not depend on the day. `Date.now()` stays, for JSONata's time box measures with it.
 */
function stillClock(isStill: () => boolean): void {
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct(target, args: [], newTarget) {
      // Reflect.construct of Date makes a Date.
      const instant: Date = Reflect.construct(target, args.length === 0 && isStill() ? [0] : args, newTarget);
      return instant;
    },
  });
}

async function main(): Promise<void> {
  stillClock(() => !mayVary);
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    // Only the parent writes to stdin, and only requests.
    const request: EvaluatorRequest = JSON.parse(line);
    process.stdout.write(`${JSON.stringify(await answer(request))}\n`);
  }
  process.exit(0);
}

void main();
