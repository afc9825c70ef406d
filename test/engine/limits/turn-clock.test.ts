import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TurnClock } from '../../../src/engine/limits/limits.ts';

test('what waits for the end of a turn goes with the turn, and not with the engine', async () => {
  const engine = new AbortController();
  const turns = Array.from({ length: 10 }, () => {
    const clock = new TurnClock('worker', {}, engine.signal);
    // As agents do that never take their listener away.
    clock.signal.addEventListener('abort', () => clock.touch());
    clock.stop();
    return new WeakRef(clock);
  });
  // A weak reference is strong until its round of the event loop is over.
  await nextRound();
  setFlagsFromString('--expose-gc');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It is what the flag gives a new context.
  (runInNewContext('gc') as () => void)();
  expect(turns.filter((turn) => turn.deref() !== undefined)).toEqual([]);
});

test('an engine that is stopped ends the turn for its own reason, before it begins as well', () => {
  const engine = new AbortController();
  const clock = new TurnClock('worker', {}, engine.signal);
  engine.abort('Enough.');
  for (const each of [clock, new TurnClock('worker', {}, engine.signal)]) {
    expect(each.signal).toMatchObject({ aborted: true, reason: 'Enough.' });
    expect([each.failure, each.ranOut]).toEqual([undefined, undefined]);
  }
});
