import { afterEach, expect, test, vi } from 'vitest';
import { compileExpression, seenByExpression } from '../../../src/expression/analysis/compile-expression.ts';
import { evaluateHere } from '../../../src/expression/evaluation/evaluate-here.ts';
import { holds } from '../../../src/expression/evaluation/evaluate.ts';
import type { Scope } from '../../../src/expression/evaluation/scope.ts';
import type { JsonValue } from '../../../src/json.ts';
import { statusCondition } from '../../../src/workflow/notation/status-condition.ts';

vi.mock('../../../src/expression/evaluation/evaluate-here.ts', { spy: true });

afterEach(() => {
  vi.clearAllMocks();
});

const statuses = [
  '',
  'done',
  'Done',
  'a b',
  '$SUSPEND',
  '1',
  'x/y:z.-',
  "it's",
  'say "no"',
  'é',
  'back\\slash',
  'done\n',
];
const metas: JsonValue[] = [
  ...statuses.map((status) => ({ $status: status, n: 1 })),
  ...[1, null, true, ['done'], ['done', 'late'], [], { done: 1 }].map(($status) => ({ $status })),
  {},
  { status: 'done' },
  { $status: 'done', _jsonata_lambda: true, sequence: true },
  [{ $status: 'done' }],
  'done',
  null,
];
const sources = [
  ...statuses.map(statusCondition),
  "$steps[-1].meta.`$status` = 'done' ",
  "$steps[-1].meta.`$status` = 'done' or true",
  "$steps[-1].meta.`$status` != 'done'",
  "$steps[-2].meta.`$status` = 'done'",
];

function over(steps: JsonValue): Scope {
  const bindings = { steps, threadId: 'x' };
  return { input: bindings, bindings };
}

test('a status is compared as JSONata compares it, whatever the last step reported', async () => {
  const scopes = metas.flatMap((meta) => [over([{ meta }]), over([{ meta: { $status: 'done' } }, { meta }])]);
  for (const scope of [...scopes, over([]), over(null), over([[{ meta: { $status: 'done' } }]]), over([{}])]) {
    for (const source of sources) {
      const wanted = await evaluateHere({ source, timeoutMs: 1000, wanted: 'truth', mayVary: false }, scope);
      expect({ source, scope, holds: await holds(source, scope) }).toEqual({ source, scope, holds: wanted === true });
    }
  }
});

test('a comparison of a status sees of the steps what its tree says', async () => {
  for (const source of sources) {
    expect(await seenByExpression(source)).toEqual((await compileExpression(source)).stepsSeen);
  }
});

test('thousands of statuses are compared without JSONata', async () => {
  const scope = over([{ meta: { $status: 'status 2999' } }]);
  const held = [];
  for (let number = 0; number < 3000; number += 1) {
    if (await holds(statusCondition(`status ${number}`), scope)) held.push(number);
  }
  expect(held).toEqual([2999]);
  expect(evaluateHere).not.toHaveBeenCalled();
});
