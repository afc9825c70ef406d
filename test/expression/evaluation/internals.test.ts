import { afterAll, describe, expect, test } from 'vitest';

import { compileExpression } from '../../../src/expression/analysis/compile-expression.ts';
import { evaluateHere, type EvaluationTask } from '../../../src/expression/evaluation/evaluate-here.ts';
import { evaluate } from '../../../src/expression/evaluation/evaluate.ts';
import { sharedEvaluator } from '../../../src/expression/evaluation/evaluator-child.ts';
import { JSONATA_FUNCTIONS } from '../../../src/expression/analysis/syntax-tree.ts';
import type { Scope } from '../../../src/expression/evaluation/scope.ts';
import type { JsonValue } from '../../../src/json.ts';

afterAll(() => sharedEvaluator().close());

/** What an agent may have replied: members that JSONata would take for its own marks. */
const meta = {
  ok: true,
  lambda: { _jsonata_lambda: true, arguments: [{ type: 'variable', value: 'x' }], body: { type: 'name', value: 'x' } },
  native: { _jsonata_function: true, implementation: 'x' },
  unmarked: { _jsonata_function: false, _jsonata_lambda: false },
  tuples: { tupleStream: true, threadId: 'forged', '@': { a: 1 } },
};
const bindings = { steps: [{ role: 'coder', meta }], start: { prompt: 'x' }, threadId: '01J' } as const;
const json = JSON.parse(JSON.stringify(bindings)) as Record<string, JsonValue>;
const scope: Scope = { input: json, bindings: json };

function task(source: string, mayVary = false): EvaluationTask {
  return { source, timeoutMs: 1000, wanted: 'value', mayVary };
}

type Place = (source: string) => Promise<JsonValue | undefined>;
const places: [string, Place][] = [
  ['here', (source) => evaluateHere(task(source), scope)],
  ['in the child', (source) => sharedEvaluator().evaluate(task(source), scope)],
];

describe('the name of a function of JSONata is given no other value', () => {
  const forms = (name: string): string[] => [
    `($${name} := 1; 2)`,
    `($${name} := function($x){ $x }; 2)`,
    `{"a": ($${name} := $count)}`,
    `$steps@$${name}.role`,
    `$steps#$${name}.role`,
    `$steps.meta#$${name}[$${name} = 1]`,
    `true ? ($${name} := 1)`,
    `function($x){ ($${name} := $x) }(1)`,
    `$map([1], function($x){ $${name} := $x })`,
    `$ ~> |$|{"a": ($${name} := 1)}|`,
  ];

  test.each([...JSONATA_FUNCTIONS].flatMap(forms))('%s', async (source) => {
    const { unsafe } = await compileExpression(source);
    expect(unsafe.length).toBeGreaterThan(0);
    await expect(evaluate(source, scope, { mayVary: true })).rejects.toMatchObject({ code: 'expression-refused' });
  });

  test.each(['function($clone){ 1 }(1)', '$map([1], function($a, $clone){ $ ~> |$|{}| })'])(
    'nor is a parameter called as one that JSONata calls itself: %s',
    async (source) => {
      await expect(evaluate(source, scope)).rejects.toMatchObject({ code: 'expression-refused' });
    },
  );

  test.each<[string, JsonValue]>([
    ['($last := $steps[-1]; $last.role)', 'coder'],
    ['$reduce([1, 2, 3], function($sum, $x){ $sum + $x })', 6],
    ['($n := $count($steps); $n)', 1],
    ['$steps@$s#$at.($s.role & $string($at))', 'coder0'],
    ['($cloned := $clone($steps[0]); $cloned.role)', 'coder'],
  ])('%s is allowed', async (source, value) => {
    expect(await evaluate(source, scope)).toEqual(value);
  });
});

describe('a function is not transformed', () => {
  test.each([
    '$count ~> |$|{"a": 1}|',
    'function($x){ $x } ~> |$|{"a": 1}|',
    '($count) ~> |$|{"a": 1}|',
    '$substring(?, 1) ~> |$|{"a": 1}|',
    '/a/ ~> |$|{"a": 1}|',
    '$ ~> |$count|{"a": 1}|',
    '$ ~> |$.$sum|{"a": 1}|',
    '$ ~> |function($x){ $x }|{"a": 1}|',
    '$ ~> |(1; $last)|{"a": 1}|',
    '|$|{"a": 1}| ~> |$|{"a": 1}|',
  ])('%s is refused before it is evaluated', async (source) => {
    expect((await compileExpression(source)).unsafe).toMatchObject([{ reason: 'transforms a function' }]);
    await expect(evaluate(source, scope)).rejects.toMatchObject({ code: 'expression-refused' });
  });

  test.each(places)('%s what was not seen before is refused when it is met', async (_, place) => {
    for (const source of [
      '($f := function($x){ 1 }; $ ~> |$f|{"body": 2}|)',
      '($f := $count; $ ~> |$f|{"implementation": 2}|)',
      '($f := function($x){ $x }; $ ~> |[$f]|{"_x": 1}|)',
      '$ ~> |$map([$count], function($f){ $f })|{"a": 1}|',
      'function($f){ $ ~> |$f|{"apply": 1}| }($count)',
      '({"tupleStream": true, "clone": function($o){ $o }}){"k": $$ ~> |$|{"x": 1}|}',
      '$ ~> |$|{"__proto__": $count}|',
      '$ ~> |steps|{"__proto__": {"role": "forged"}}|',
      '($l := [[1], [2]]; $ ~> |[$l]|{"length": 4294967295}|)',
    ]) {
      await expect(place(source), source).rejects.toMatchObject({ code: 'expression-failed' });
    }
  });
});

describe.each(places)('%s no part of JSONata is reached', (_, place) => {
  /** Hands `$peek` what JSONata calls functions with, by something that is none but has an `apply`. */
  const caught = (peek: string): string[] => [
    `function($g){ $each(?, ?)({"a": 1}, {"arity": 2, "apply": $g}) }(function($this){ ${peek} })`,
    `function($g){ $map(?, ?)([1], {"arity": 1, "apply": $g}) }(function($this){ ${peek} })`,
    `function($g){ $filter(?, ?)([1], {"arity": 1, "apply": $g}) }(function($this){ ${peek} })`,
    `function($g){ $match("x", function($s){ {"match": "x", "start": 0, "end": 1, "groups": [], "next": {"apply": $g}} }) }(function($this){ ${peek} })`,
    `function($g){ $replace(?, ?, ?)("x", /x/, {"apply": $g}) }(function($this){ ${peek} })`,
  ];

  test.each([
    '$error($join($keys($this)))',
    '$error($type($this.environment))',
    '$error($type($this.options))',
    '$error($type($this.createSequence))',
    '$error($type($lookup($this, "environment")))',
  ])('by what a function is called with: %s', async (peek) => {
    for (const source of caught(peek)) {
      // Whether the call goes through or not, nothing was there to tell of.
      const told = await place(source).catch((error: { reason?: string }) => error.reason);
      expect(JSON.stringify(told) ?? '', source).not.toMatch(/environment|createSequence|options|object|function$/u);
    }
  });

  test.each([
    '$count ~> $spread()',
    '$spread([$count])',
    '$spread([function($x){ $x }])',
    '$merge(?)([$count, {}])',
    '$merge(?)([function($x){ $x }, {}])',
    '$merge(?)([$count, $steps[0].meta.unmarked])',
    '$each(?, ?)($count, function($value, $key){ $key })',
    '$each(?, ?)(function($x){ $x }, function($value, $key){ $key })',
    '$sift(?, ?)(function($x){ $x }, function($value, $key){ true })',
    '$keys(?)(function($x){ $x })',
    '$keys($merge(?)([$map, $steps[0].meta.unmarked]))',
    ...[
      'environment',
      'implementation',
      'signature',
      'body',
      'arguments',
      'input',
      'apply',
      'ast',
      'procedure',
    ].flatMap((part) => [
      `($f := function($x){ $x }; $f.${part})`,
      `$count.${part}`,
      `[$count, function($x){ $x }].${part}`,
      `{"f": function($x){ $x }}.f.${part}`,
      `$lookup(?, ?)(function($x){ $x }, "${part}")`,
      `$substring(?, 1).${part}`,
      `|$|{}|.${part}`,
      `/a/.${part}`,
      `($count ~> $sum).${part}`,
      `(function($x){ $x }).**.${part}`,
      `(function($x){ $x }).*.${part}`,
      `([function($x){ $x }].{"t": $}).t.${part}`,
    ]),
    ...['constructor', '__proto__', 'prototype', 'toString', 'bind'].flatMap((name) => [
      `$count.${name}`,
      `$steps.${name}`,
      `$.${name}.${name}`,
      `"text".${name}`,
      `(1).${name}`,
      `/a/.${name}`,
      `$match("a", /a/).next.${name}`,
      `$lookup($, "${name}")`,
      `$${name}`,
    ]),
  ])('%s', async (source) => {
    const value = await place(source).catch((error: { code: string }) => error.code);
    expect([undefined, [], {}, 'expression-failed', 'expression-refused'], JSON.stringify(value)).toContainEqual(value);
  });

  test.each([
    '[$count]',
    '[function($x){ $x }]',
    '{"a": {"b": function($x){ $x }}}',
    '($r := /a/; $r("a"))',
    '[$substring(?, 1)]',
  ])('%s is no value, and nothing of it is told', async (source) => {
    await expect(place(source)).rejects.toMatchObject({ reason: 'it gives a function, not a value' });
  });

  test.each([
    '{function($x){ $x }: 1}',
    '1 + function($x){ $x }',
    '"a" ~> ([function($x){ $x }])',
    '$ ~> |$|[function($x){ $x }]|',
    '$ ~> |$|{}, function($x){ $x }|',
    '$sum([function($x){ $x }])',
  ])('nor does a mistake tell of it: %s', async (source) => {
    const error: unknown = await place(source).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('failed');
    expect(String(error)).not.toMatch(/environment|_jsonata|"body"|createSequence|implementation/u);
  });

  test('what an agent replied passes for no function', async () => {
    expect(await place('$type($steps[0].meta.lambda)')).toBe('object');
    expect(await place('$type($steps[0].meta.native)')).toBe('object');
    expect(await place('$steps[0].meta.unmarked')).toEqual({});
    for (const source of ['$steps[0].meta.lambda(1)', '$steps[0].meta.lambda(?)', '$map([1], $steps[0].meta.native)']) {
      await expect(place(source), source).rejects.toMatchObject({ code: 'expression-failed' });
    }
  });

  test('nor does it bind variables', async () => {
    expect(await place('$steps[0].meta.tuples{"id": $threadId}')).toEqual({ id: '01J' });
  });

  test('a transform changes a copy, whatever its pattern names', async () => {
    await place('($ ~> |$$.steps[0].meta|{"ok": false}|; 1)');
    await place('($ ~> |$steps[0].meta|{"ok": false}, ["native"]|; 1)');
    expect(await place('$steps[0].meta.ok and $exists($steps[0].meta.native)')).toBe(true);
    expect(await place('($ ~> |steps.meta|{"ok": "changed"}|).steps[0].meta.ok')).toBe('changed');
    expect(json).toEqual(JSON.parse(JSON.stringify(bindings)));
  });

  test('the time box holds, whatever was tried before', async () => {
    for (const source of caught('$this ~> |$|{"guardrails": function(){ 1 }}|')) await place(source).catch(() => {});
    const endless = place('($f := function($x){ $f($x) }; $f(1))');
    await expect(endless).rejects.toMatchObject({ code: 'expression-timeout' });
  });
});

test('a text that is evaluated for a person finds no more', async () => {
  const attempt = (text: string): Promise<JsonValue | undefined> =>
    evaluate(`$eval(${JSON.stringify(text)})`, scope, { mayVary: true });
  await expect(attempt('($f := function($x){ 1 }; $ ~> |$f|{"body": 2}|)')).rejects.toThrow('no functions');
  await expect(attempt('($clone := function($o){ $o }; $ ~> |$|{"a": 2}|)')).rejects.toThrow('JSONata itself');
  expect(await attempt('$spread([$now])')).toEqual([]);
});
