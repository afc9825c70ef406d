import { expect, test } from 'vitest';
import { snapshotLimits } from '../../../src/engine/workspace/record-workspace.ts';

test('an isolated turn, which waits for a person without its files, may be recorded for longer, unless a limit is configured', () => {
  const isolations = ['none', 'shared', 'worktree', 'strict'] as const;
  expect(isolations.map((isolation) => snapshotLimits({ config: {} }, isolation).timeoutMs)).toEqual([
    10_000, 10_000, 60_000, 60_000,
  ]);
  expect(snapshotLimits({ config: { snapshot: { timeoutMs: 5 } } }, 'strict').timeoutMs).toBe(5);
});
