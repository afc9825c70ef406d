import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';

import { compileExpression } from '../../../src/expression/analysis/compile-expression.ts';
import { assertHarmless, type EvaluationTask } from '../../../src/expression/evaluation/evaluate-here.ts';
import { evaluate, holds, type EvaluateOptions } from '../../../src/expression/evaluation/evaluate.ts';
import { sharedEvaluator } from '../../../src/expression/evaluation/evaluator-child.ts';
import type { Scope } from '../../../src/expression/evaluation/scope.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';

afterAll(() => sharedEvaluator().close());

function step(role: string, meta: JsonObject): JsonObject {
  return { role, meta, output: meta, text: `text of ${role}` };
}

const steps = [
  step('planner', { phases: ['one', 'two'], only: ['single'], none: [] }),
  step('coder', { done: 'one', ok: true }),
  step('coder', { done: 'two', ok: false }),
];
const bindings = { steps, start: { prompt: 'task', depth: 0 }, threadId: '01J' };
const scope: Scope = { input: bindings, bindings };

/** Evaluates in the child, whatever the expression looks like. */
function inChild(wanted: EvaluationTask['wanted']) {
  return async (source: string, over: Scope, options: EvaluateOptions = {}): Promise<JsonValue | undefined> => {
    const { timeoutMs = 1000, mayVary = false } = options;
    assertHarmless(await compileExpression(source), mayVary);
    return sharedEvaluator().evaluate({ source, timeoutMs, wanted, mayVary }, over);
  };
}

const child = { evaluate: inChild('value'), holds: inChild('truth') };
const places: [string, typeof child][] = [
  ['here', { evaluate, holds }],
  ['in the child', child],
];

describe.each(places)('%s', (_, place) => {
  test.each<[string, JsonValue | undefined]>([
    ['$steps[-1].meta.done', 'two'],
    ['steps[-1].meta.done', 'two'],
    ['$$.threadId & $threadId', '01J01J'],
    ['$start.prompt', 'task'],
    ['$last("coder").done', 'two'],
    ['$first("coder").done', 'one'],
    ['$visits("coder")', 2],
    ['$visits("nobody")', 0],
    ['$last("nobody")', undefined],
    ['$last("nobody").deeper.still', undefined],
    ['$steps.($visits(role))', [1, 2, 2]],
    ['$first(?)("coder").ok', true],
    ['$map(["planner", "coder"], $visits)', [1, 2]],
    ['missing', undefined],
    ['null', null],
    // One is a value, two are a list: JSONata's sequences.
    ["$steps[role='planner'].meta.phases", ['one', 'two']],
    ["$steps[role='coder'].meta.done", ['one', 'two']],
    ["$steps[role='planner'].role", 'planner'],
    ["$steps[role='planner'].role[]", ['planner']],
    ["$steps[role='nobody'].role", undefined],
    ['$first("planner").only', ['single']],
    ['$first("planner").none', []],
    ['$count($first("planner").none)', 0],
    ["$steps[role='coder'].meta.done = 'two'", false],
    ["$last('coder').done = 'two'", true],
    ["'two' in $steps[role='coder'].meta.done", true],
    ['$steps{role: $count($)}', { planner: 1, coder: 2 }],
    ['$join($steps.role, ",")', 'planner,coder,coder'],
    ['$replace("a1b2", /[0-9]/, "")', 'ab'],
    ['($f := function($n){ $n = 0 ? 0 : 1 + $f($n - 1) }; $f(300))', 300],
    ['($f := function($n, $a){ $n = 0 ? $a : $f($n - 1, $a + 1) }; $f(5000, 0))', 5000],
  ])('%s', async (source, value) => {
    expect(await place.evaluate(source, scope)).toEqual(value);
  });

  test.each<[string, boolean]>([
    ['missing', false],
    ['null', false],
    ['0', false],
    ['1', true],
    ["''", false],
    ["'false'", true],
    ['[]', false],
    ['[0, 0]', false],
    ['[0, 1]', true],
    ['{}', false],
    ["{'a': 0}", true],
    ['function($x){ $x }', false],
    ['$count', false],
    ['$steps[role="nobody"]', false],
    ['$steps.meta.ok', true],
    ['/* true */ false', false],
  ])('the truth of %s is %s', async (source, truth) => {
    expect(await place.holds(source, scope)).toBe(truth);
  });

  test.each([
    ['1 + "a"', 'T2002'],
    ['$sum("a")', 'T0412'],
    ['$error("no such luck")', 'D3137'],
    ['$unknown(1)', 'T1006'],
    ['(function($n){ 1 + $n })("x")', 'T2002'],
  ])('%s fails as JSONata’s %s', async (source, jsonataCode) => {
    await expect(place.evaluate(source, scope)).rejects.toMatchObject({
      code: 'expression-failed',
      kind: 'data',
      expression: source,
      jsonataCode,
    });
  });

  test.each(['$count', 'function($x){ $x }', '$last', '$substring(?, 1)'])(
    '%s is a function, no value',
    async (source) => {
      await expect(place.evaluate(source, scope)).rejects.toThrow('a function, not a value');
    },
  );

  test('a syntax error says where', async () => {
    await expect(place.evaluate('$steps[', scope)).rejects.toMatchObject({ code: 'expression-syntax', offset: 7 });
  });

  test.each(['$now()', '$millis()', '$random()', '$shuffle([1])', '$eval("1")'])('%s is refused', async (source) => {
    await expect(place.evaluate(source, scope)).rejects.toMatchObject({ code: 'expression-refused', offset: 0 });
  });

  test('a query that nobody replays may ask for the time', async () => {
    expect(await place.evaluate('$millis()', scope, { mayVary: true })).toBeTypeOf('number');
    expect(await place.evaluate('$eval("1 + 1")', scope, { mayVary: true })).toBe(2);
  });

  test.each<[string, JsonValue | undefined]>([
    ['$toMillis("10:00", "[H]:[m]")', 36_000_000],
    ['$toMillis("2026-01-01T00:00:00")', 1_767_225_600_000],
    ['$fromMillis(0)', '1970-01-01T00:00:00.000Z'],
  ])('%s depends neither on the day nor on the time zone', async (source, value) => {
    expect(await place.evaluate(source, scope)).toBe(value);
  });

  test.each<[string, JsonValue | undefined]>([
    ['$steps.constructor', undefined],
    ['$.constructor.constructor', undefined],
    ['$steps.__proto__', undefined],
    ['$lookup($steps[0], "__proto__")', undefined],
    ['$constructor', undefined],
    ['$__proto__', undefined],
    ['$keys({"__proto__": {"polluted": 1}})', '__proto__'],
    ['$merge([{"__proto__": {"polluted": 1}}]).polluted', undefined],
    ['($ ~> |$|{"constructor": {"prototype": {"polluted": 1}}}|).threadId', '01J'],
  ])('%s reaches no prototype', async (source, value) => {
    expect(await place.evaluate(source, scope)).toEqual(value);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test('a key named __proto__ is a key like any other', async () => {
    const input = JSON.parse('{"__proto__": {"a": 1}, "b": 2}') as JsonValue;
    expect(await place.evaluate('`__proto__`.a', { input, bindings: {} })).toBe(1);
    expect(await place.evaluate('a', { input, bindings: {} })).toBeUndefined();
  });

  test.each([
    '$steps{role: 1}',
    'none{"a": 1}',
    'list[]',
    '$list[]',
    '$list^(>$)',
    '$ ~> |list|{"a": 1}|',
    '($steps := 1; $steps)',
    '$list#$i',
  ])('%s leaves the scope as it was', async (source) => {
    const input = { list: [{ n: 1 }], none: [] };
    const own: Scope = { input, bindings: { ...input, steps: [] } };
    const before = JSON.stringify(own);
    await place.evaluate(source, own);
    expect(JSON.stringify(own)).toBe(before);
    // Marks on an array are lost on JSON: its own keys tell.
    expect(Object.keys(input.list)).toEqual(['0']);
    expect(Object.keys(input.none)).toEqual([]);
    expect(await place.evaluate('$count(none)', own)).toBe(0);
  });

  test('an endless tail recursion ends at the time box', async () => {
    const endless = place.evaluate('($f := function($x){ $f($x) }; $f(1))', scope, { timeoutMs: 200 });
    await expect(endless).rejects.toMatchObject({ code: 'expression-timeout', kind: 'data', timeoutMs: 200 });
  });

  test('an endless recursion ends at the depth box', async () => {
    const endless = place.evaluate('($f := function($x){ 1 + $f($x) }; $f(1))', scope);
    await expect(endless).rejects.toMatchObject({ code: 'expression-failed', jsonataCode: 'D1011' });
  });

  test('lists that multiply end at the length of a sequence', async () => {
    const many = Array.from({ length: 2000 }, (_unused, index) => step('x', { index }));
    const own: Scope = { input: { steps: many }, bindings: { steps: many } };
    await expect(place.evaluate('$steps.($$.steps.($$.steps))', own)).rejects.toMatchObject({
      code: 'expression-failed',
      jsonataCode: 'D2015',
    });
  });
});

describe('what only the child survives', () => {
  test.each([
    ['a pattern that backtracks for ever', '$match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", /(a+)+$/)'],
    ['a string of 200 MB', "$pad('', 2e8, 'xy')"],
    ['strings that double', '($f := function($s, $n){ $n = 0 ? $s : $f($s & $s, $n - 1) }; $length($f("x", 28)))'],
    [
      'lists that double',
      '($f := function($s, $n){ $n = 0 ? $s : $f($append($s, $s), $n - 1) }; $count($f([1, 2], 40)))',
    ],
    [
      'a shared structure written out',
      "($f := function($v, $n){ $n = 0 ? $v : $f({'a': $v, 'b': $v}, $n - 1) }; $string($f(1, 60)))",
    ],
    ['a range of a hundred million', '$sum([1..99999999])'],
    ['a list sorted by merging', '$sort($reverse([1..900000]))[0]'],
  ])('%s is an error that names the expression', async (_, source) => {
    await expect(evaluate(source, scope, { timeoutMs: 300 })).rejects.toMatchObject({
      code: expect.stringMatching(/^expression-(timeout|failed)$/),
      kind: 'data',
      expression: source,
    });
    // The next evaluation finds a child that works.
    expect(await evaluate('$string(1)', scope)).toBe('1');
  });
});

describe('where it is evaluated makes no difference', () => {
  const role = fc.constantFrom('planner', 'coder', 'nobody');
  const operand = fc.oneof(
    fc.constantFrom(
      '$steps[-1].meta.ok',
      'steps.role',
      '$count(steps)',
      '$$.threadId',
      'null',
      'missing',
      '$steps.meta.done',
    ),
    role.map((name) => `$last('${name}').done`),
    role.map((name) => `$visits('${name}')`),
    role.map((name) => `'${name}'`),
    fc.integer({ min: -2, max: 3 }).map((index) => `$steps[${index}].role`),
    fc.integer({ min: 0, max: 3 }).map(String),
  );
  const condition = fc
    .tuple(operand, fc.constantFrom('=', '!=', '<', '>=', 'in', 'and', 'or', '+'), operand)
    .map(([left, operator, right]) => `(${left} ${operator} ${right})`);
  const expression = fc.oneof(
    condition,
    fc.tuple(condition, condition).map(([left, right]) => `${left} and $not(${right})`),
    fc.tuple(condition, operand, operand).map((parts) => parts.join(' ? ').replace(/ \? (?=[^?]*$)/, ' : ')),
    fc.tuple(operand, condition).map(([value, filter]) => `$filter([1, 2], function($x){ ${filter} }) ?: ${value}`),
  );
  const settle = (source: string, evaluateThere: typeof child.evaluate): Promise<unknown> =>
    evaluateThere(source, scope).then(
      (value) => ({ value }),
      (error: { code: string; message: string }) => ({ code: error.code, message: error.message }),
    );

  test('of any condition', async () => {
    await fc.assert(
      fc.asyncProperty(expression, async (source) => {
        expect(await settle(source, child.evaluate)).toEqual(await settle(source, evaluate));
      }),
      { numRuns: 150 },
    );
  });

  test('and neither does when', async () => {
    await fc.assert(
      fc.asyncProperty(expression, async (source) => {
        expect(await settle(source, evaluate)).toEqual(await settle(source, evaluate));
      }),
      { numRuns: 100 },
    );
  });
});
