import { expect, test } from 'vitest';
import { compileExpression, keepLoaded, takeLoaded } from '../../../src/expression/analysis/compile-expression.ts';
import { holds } from '../../../src/expression/evaluation/evaluate.ts';

test('an expression is parsed once for what it depends on and for its value', async () => {
  const source = '$start.depth = 41';
  const scope = (depth: number) => ({ input: null, bindings: { start: { depth }, steps: [] } });
  await compileExpression(source);
  const parsed = await takeLoaded(source);
  keepLoaded(source, parsed);
  expect(await holds(source, scope(41))).toBe(true);
  expect(await holds(source, scope(40))).toBe(false);
  expect((await takeLoaded(source)).expression).toBe(parsed.expression);
});

test('two uses at a time have an expression each', async () => {
  const source = '$start.depth = 42';
  await compileExpression(source);
  expect((await takeLoaded(source)).expression).not.toBe((await takeLoaded(source)).expression);
});
