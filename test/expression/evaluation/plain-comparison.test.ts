import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { compileExpression, seenByExpression } from '../../../src/expression/analysis/compile-expression.ts';
import { plainComparison } from '../../../src/expression/analysis/plain-comparison.ts';
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
  ...[0, '1', -1, 1.5, null, true, false, '', [1], [1, 1], [], [[1]], { n: 1 }].map((n) => ({ n })),
  { and: 1, true: 1, null: 1, function: 1, toString: 1, _jsonata_lambda: 1, tupleStream: 1 },
  JSON.parse('{ "__proto__": 1 }'),
  {},
  { status: 'done' },
  { $status: 'done', _jsonata_lambda: true, sequence: true },
  [{ $status: 'done' }],
  'done',
  null,
];
const sources = [
  ...statuses.map(statusCondition),
  ...['$steps[-1].meta.n', "$last('coder').n", '$first("coder").n', '$start.n'].flatMap((subject) =>
    ['= 1', '!= 1', '=1', "= '1'", '= 0', '= 01', '= 1.5', '= -1', '= true', '!= false', '= null', "= ''"].map(
      (compared) => `${subject} ${compared}`,
    ),
  ),
  ...['and', 'true', 'null', 'function', '__proto__', 'toString', '_jsonata_lambda', 'tupleStream'].flatMap((member) =>
    ['= 1', "!= 'x'"].map((compared) => `$steps[-1].meta.${member} ${compared}`),
  ),
  '$steps[-1].output.n = 1',
  "$last('nobody').n != 1",
  "$last('coder').`$status` = 'done'",
  "$last('coder').status = 'done'",
  "$last('it\\'s').n = 1",
  "$steps[-1].meta.`$status` = 'done' ",
  "$steps[-1].meta.`$status` = 'done' or true",
  "$steps[-1].meta.`$status` != 'done'",
  "$steps[-2].meta.`$status` = 'done'",
];

function over(steps: JsonValue, start: JsonValue = { n: 1 }, more: Record<string, JsonValue> = {}): Scope {
  const bindings = { steps, start, threadId: 'x', ...more };
  return { input: bindings, bindings };
}

/** What JSONata says. */
async function truthOf(source: string, scope: Scope): Promise<unknown> {
  const task = { source, timeoutMs: 1000, wanted: 'truth', mayVary: false } as const;
  return evaluateHere(task, scope).catch((error: unknown) => String(error));
}

test('a member is compared as JSONata compares it, whatever the last step reported', async () => {
  const role = 'coder';
  const scopes = metas.flatMap((meta) => [
    over([{ role, meta }], meta),
    over([
      { role, meta: { $status: 'done' } },
      { role, meta },
    ]),
    over([
      { role, meta },
      { role: 'other', meta: { n: 1 } },
    ]),
  ]);
  const odd = [null, [], [{}], [1], [[{ role, meta: { $status: 'done', n: 1 } }]], { role, meta: { n: 1 } }];
  const named = over([{ role, meta: { n: 1 } }], null, { last: 'x', first: { n: 1 } });
  for (const scope of [...scopes, ...odd.map((steps) => over(steps)), named]) {
    for (const source of sources) {
      const wanted = await truthOf(source, scope);
      const found = await holds(source, scope).catch((error: unknown) => String(error));
      expect({ source, scope, found }).toEqual({ source, scope, found: wanted });
    }
  }
});

test('any text is compared as JSONata compares it, or left to it', async () => {
  const word = fc.oneof(fc.constantFrom('a', 'n', '', '1', '$status', 'x y', 'é'), fc.string({ maxLength: 5 }));
  const value = fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null), fc.array(word, { maxLength: 2 }));
  const written = fc.oneof(
    word.map((text) => `'${text}'`),
    fc.integer().map(String),
    fc.boolean().map(String),
    word,
  );
  const subject = fc.constantFrom('$steps[-1].meta', "$last('a')", "$first('n')", '$start', '$steps[0].meta');
  const member = fc.oneof(
    word,
    word.map((text) => `\`${text}\``),
  );
  const source = fc
    .tuple(subject, member, fc.constantFrom(' = ', ' != ', '=', ' in '), written)
    .map(([of, name, operator, literal]) => `${of}.${name}${operator}${literal}`);
  const meta = fc.dictionary(word, value, { maxKeys: 3 });
  const steps = fc.array(fc.record({ role: fc.constantFrom('a', 'n'), meta }), { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(source, steps, meta, async (text, list, start) => {
      if (plainComparison(text) === undefined) return;
      const scope = over(list, start);
      expect(await holds(text, scope)).toEqual(await truthOf(text, scope));
    }),
    { numRuns: 2000 },
  );
});

test('a comparison sees of the steps what its tree says, and of roles no more than their ends', async () => {
  for (const source of sources) {
    const compiled = await compileExpression(source).catch(() => undefined);
    if (compiled === undefined) continue;
    const { members, ...seen } = await seenByExpression(source);
    expect({ source, ...compiled.stepsSeen }).toMatchObject({ source, ...seen });
    expect([undefined, compiled.stepsSeen.members]).toContainEqual(members);
  }
});

test('a comparison of the last step of a role reads no other, whatever its member is called', async () => {
  const seen = await seenByExpression("$last('coder').status = 'done'");
  expect(seen).toEqual({ newest: 0, counts: false, visits: false, ends: true, members: undefined });
  const bindings = { steps: [], threadId: 'x' };
  for (const status of ['done', ['done'], ['done', 'x'], 'late', null]) {
    const scope = {
      input: bindings,
      bindings,
      roles: new Map([['coder', { visits: 9, first: {}, last: { status } }]]),
    };
    const found = await holds("$last('coder').status = 'done'", scope);
    expect({ status, found }).toEqual({ status, found: await truthOf("$last('coder').status = 'done'", scope) });
    expect(found).toBe(status === 'done');
  }
});

test.each([
  ['statuses', (number: number) => statusCondition(`status ${number}`)],
  ['numbers', (number: number) => `$steps[-1].meta.n = ${number}`],
  ['numbers of a role', (number: number) => `$last('coder').n = ${number}`],
  ['numbers of the start', (number: number) => `$start.n = ${number}`],
])('thousands of %s are compared without JSONata', async (_, write) => {
  const scope = over([{ role: 'coder', meta: { $status: 'status 2999', n: 2999 } }], { n: 2999 });
  const held = [];
  for (let number = 0; number < 3000; number += 1) if (await holds(write(number), scope)) held.push(number);
  expect(held).toEqual([2999]);
  expect(evaluateHere).not.toHaveBeenCalled();
});
