import { expect, test, vi } from 'vitest';

import { decide, type DecisionContext } from '../../src/moderator/decide.ts';
import type { Rule } from '../../src/workflow/definition.ts';

const loaded = vi.hoisted((): string[] => []);

vi.mock('jsonata', async (importOriginal) => {
  loaded.push('jsonata');
  return importOriginal();
});
vi.mock('liquidjs', async (importOriginal) => {
  loaded.push('liquidjs');
  return importOriginal();
});

const context: DecisionContext = {
  threadId: '01JABCDEFGHJKMNPQRSTVWXYZ0',
  start: { prompt: 'task', workflow: 'loop', depth: 0, startedAtMs: 0 },
  steps: [],
};

async function loadedBy(...rules: Rule[]): Promise<string[]> {
  loaded.length = 0;
  expect((await decide(rules, context)).kind).toBe('role');
  return [...loaded];
}

// In this order: a module is loaded once.
test('JSONata and Liquid are loaded by the first rule that needs them, and not before', async () => {
  const plain: Rule = { from: '__start__', to: 'a', when: null, prompt: 'Begin.' };
  expect(await loadedBy({ from: 'x', to: 'y', when: '1 = 1', prompt: '{{ x }}' }, plain)).toEqual([]);
  expect(await loadedBy({ ...plain, prompt: '{{ start.prompt }}' })).toEqual(['liquidjs']);
  expect(await loadedBy({ ...plain, when: '1 = 1' })).toEqual(['jsonata']);
});
