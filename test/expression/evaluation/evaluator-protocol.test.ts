import { describe, expect, test } from 'vitest';
import { EvaluatorChild } from '../../../src/expression/evaluation/evaluator-child.ts';
import { growScope, growthSince, received, toSend } from '../../../src/expression/evaluation/evaluator-protocol.ts';
import type { Scope } from '../../../src/expression/evaluation/scope.ts';
import type { JsonObject } from '../../../src/json.ts';

function scopeOf(steps: JsonObject[], more: JsonObject = {}): Scope {
  const bindings = { steps, threadId: '01', ...more };
  return { input: bindings, bindings };
}

const steps = ['a', 'b', 'c', 'd'].map((role, at) => ({ role, meta: { at } }));

describe('a scope that follows another', () => {
  test('tells the steps that are new and all other bindings', () => {
    const growth = growthSince(scopeOf(steps.slice(0, 2)), scopeOf(steps, { meta: { last: true } }));
    expect(growth).toEqual({ bindings: { threadId: '01', meta: { last: true } }, kept: 2, moreSteps: steps.slice(2) });
  });

  test('keeps what both begin with, where the newest step is another value by now', () => {
    const [before, now] = [
      scopeOf(steps.slice(0, 3)),
      scopeOf([...steps.slice(0, 2), { role: 'c' }, ...steps.slice(3)]),
    ];
    const growth = growthSince(before, now);
    expect(growth).toMatchObject({ kept: 2, moreSteps: [{ role: 'c' }, steps[3]] });
    expect(growScope(before, growth!)).toEqual(now);
    const shorter = scopeOf(steps.slice(0, 1));
    expect(growScope(before, growthSince(before, shorter)!)).toEqual(shorter);
  });

  test('is the same however it was come to', () => {
    const [before, now] = [scopeOf(steps.slice(0, 1)), scopeOf(steps, { meta: {} })];
    expect(growScope(before, growthSince(before, now)!)).toEqual(now);
    expect(received(JSON.parse(JSON.stringify(toSend(now))))).toEqual(now);
  });

  test.each([
    ['no step', scopeOf([])],
    ['equal steps that are others', scopeOf(structuredClone(steps))],
    ['no steps', { input: null, bindings: {} }],
    ['a document of its own', { input: null, bindings: { steps } }],
  ])('does not follow with %s', (_, now) => {
    expect(growthSince(scopeOf(steps.slice(0, 2)), now)).toBeUndefined();
  });
});

test('the child sees what a thread has come to, and nothing of another thread', async () => {
  const child = new EvaluatorChild();
  const task = { timeoutMs: 5_000, wanted: 'value', mayVary: false } as const;
  const roles = (scope: Scope): Promise<unknown> =>
    child.evaluate({ ...task, source: '[$steps[$match(role, /./)].role, $string(meta.at)]' }, scope);
  try {
    expect(await roles(scopeOf(steps.slice(0, 2)))).toEqual(['a', 'b']);
    const { pid } = child;
    expect(await roles(scopeOf(steps.slice(0, 3), { meta: { at: 3 } }))).toEqual(['a', 'b', 'c', '3']);
    expect(await roles(scopeOf(steps))).toEqual(['a', 'b', 'c', 'd']);
    expect(await roles(scopeOf(steps.slice(2)))).toEqual(['c', 'd']);
    expect(child.pid).toBe(pid);
  } finally {
    child.close();
  }
});
