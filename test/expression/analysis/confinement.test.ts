import { describe, expect, test } from 'vitest';

import { compileExpression } from '../../../src/expression/analysis/compile-expression.ts';
import { JSONATA_FUNCTIONS } from '../../../src/expression/analysis/syntax-tree.ts';

async function reasonFor(source: string): Promise<string | undefined> {
  return (await compileExpression(source)).reasonForChild;
}

describe('what a rule usually says is evaluated in this process', () => {
  test.each([
    "$steps[-1].meta.`$status` = 'rejected'",
    "$last('checker').ok and $visits('writer') < 3",
    "$count($steps[role = 'tester' and $not(meta.passed)]) >= 3",
    "($plan := $first('planner'); $count($plan.phases) = 0)",
    "$steps[-1].role in ['a', 'b']",
    '$filter($steps, function($s){ $s.meta.ok = true })',
    "$contains($steps[-1].text, 'LGTM')",
    "$first('planner').phases[$not(hash in $$.steps[role = 'coder'].meta.completedPhase)]",
    '$steps^(>number)[0].meta.ok',
    "$exists($last('x')) ? $last('x').ok : false",
    '$last("x").count ?? 0 > 1',
  ])('%s', async (source) => {
    expect(await reasonFor(source)).toBeUndefined();
  });
});

describe('what could hold the process or fill its memory is not', () => {
  test.each([
    ['$match(text, /(a+)+$/)', '$match'],
    ['$contains(text, /a/)', '$contains with a computed needle'],
    ['$contains(text, $steps[0].text)', '$contains with a computed needle'],
    ['$steps[-1].text ~> /a/', "a 'apply' node"],
    ["$pad('', 2e8, 'xy')", '$pad'],
    ['$map($steps, $pad)', '$pad'],
    ['($p := $pad; 1)', '$pad'],
    ['[1..1e9]', 'an array that it builds'],
    ['$count($steps[[1..3]])', 'an array that it builds'],
    ['$x & $x', 'the operator &'],
    ['$steps.[$, $]', 'an array that it builds'],
    ["$steps.{'a': $, 'b': $}", 'an object that it builds'],
    ['$steps{role: meta}', 'grouping'],
    ['$steps@$a.$steps@$b', 'a join'],
    ['$steps#$i.meta', 'a join'],
    ['($f := function($x){ $f($x) }; $f(1))', 'a function of its own'],
    ['function($g){ $g($g) }(function($g){ $g($g) })', 'a call of a computed function'],
    ['$map([1], function($x){ $x($x) })', 'a call of a computed function'],
    ['$map($steps, function($x)<x?x?x?f:x>{ 1 })', 'a function with a signature'],
    ['$steps.**', "a 'descendant' node"],
    ['$ ~> |$|{}|', "a 'apply' node"],
    ['$substring(?, 1)', "a 'partial' node"],
  ])('%s: %s', async (source, reason) => {
    expect(await reasonFor(source)).toBe(reason);
  });
});

test('a function is trusted by name, never by default', async () => {
  const trusted: string[] = [];
  for (const name of JSONATA_FUNCTIONS) if ((await reasonFor(`$${name}($x)`)) === undefined) trusted.push(name);
  // Frozen on purpose: whoever adds one shows first that no argument makes it slow or large.
  expect(trusted.toSorted().join(' ')).toBe(
    'abs assert average boolean ceil count each error exists filter floor keys length lookup map max min not number power round sift single sqrt substring sum type',
  );
});
