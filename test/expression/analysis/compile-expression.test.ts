import { describe, expect, test } from 'vitest';

import { compileExpression, MAX_EXPRESSION } from '../../../src/expression/analysis/compile-expression.ts';
import { inspectExpression, unknownVariables } from '../../../src/expression/analysis/inspect-expression.ts';
import { ExpressionSyntaxError } from '../../../src/expression/expression-errors.ts';
import {
  CHECK_NAMES,
  JSONATA_FUNCTIONS,
  REFUSED_FUNCTIONS,
  RULE_NAMES,
} from '../../../src/expression/analysis/syntax-tree.ts';

async function syntaxErrorOf(source: string): Promise<ExpressionSyntaxError> {
  const error: unknown = await compileExpression(source).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ExpressionSyntaxError);
  return error as ExpressionSyntaxError;
}

describe('syntax errors', () => {
  test.each([
    ['$steps[', 7],
    ['$steps ~', 7],
    ['1 +', 3],
    ['$a := ', 6],
    ['"open', 5],
    ['a } b', 2],
    ['', undefined],
  ])('%j is refused', async (source, offset) => {
    const error = await syntaxErrorOf(source);
    expect(error).toMatchObject({ code: 'expression-syntax', kind: 'data', expression: source });
    if (offset !== undefined) expect(Math.abs((error.offset ?? NaN) - offset)).toBeLessThanOrEqual(1);
  });

  test('the offset points at the token that is wrong', async () => {
    expect(await syntaxErrorOf('$count($steps) = ] 2')).toMatchObject({ offset: 17 });
  });

  test('an expression that is too long is refused before it is parsed', async () => {
    expect((await syntaxErrorOf(`1${' '.repeat(MAX_EXPRESSION)}`)).reason).toContain('longer');
  });

  test('an expression that is nested too deeply for the parser is refused', async () => {
    expect((await syntaxErrorOf('('.repeat(20_000) + '1' + ')'.repeat(20_000))).reason).toContain('nested');
  });

  test.each(['?:', '??'])('a nesting of %s, whose tree doubles at every level, is refused', async (operator) => {
    expect((await syntaxErrorOf('('.repeat(40) + 'a' + `${operator}a)`.repeat(40))).reason).toContain('?:');
  });

  test.each([
    ['patterns', '$contains(a, /^(?:a|b)$/) or ', 'a = /"?:/i'],
    ['patterns in a division', 'count / 2 > 1 and $contains(a, /(?:")/) or ', '1'],
    ['strings', `'may it? [y/n]?:' & "\\"??" & '/"?:' & `, '""'],
    ['names', 'a.`?:`.', 'b'],
    ['comments', '1 /* "?: */ + ', '1'],
    ['wildcards', '* / 2 > 1 or a * $length($match(b, /(?:a)/)) > 2 and and / 2 or ', 'true'],
  ])('those in %s are not counted', async (_, part, end) => {
    await expect(compileExpression(part.repeat(13) + end)).resolves.toBeDefined();
  });

  test.each([
    ['a pattern with a quote', '$f(/"/)', ' & $f(/"/)'],
    ['a division of a text', 'a / "2"', ''],
    ['a function, a slash after which begins a pattern', 'function($x){$x} / "', '" / i'],
    ['a signature with a pattern', 'function($x)<s/"/>{$x', ' /* " */}'],
    ['a text with an escaped quote', "'\\''", " & ''"],
  ])('those behind %s are', async (_, before, after) => {
    expect((await syntaxErrorOf(`${before}${' ?: a'.repeat(13)}${after}`)).reason).toContain('more than 12');
  });
});

test('a pattern that JSONata would lose is refused, and is kept where it is bound first', async () => {
  expect((await syntaxErrorOf('$match(text, /a/) ?: []')).reason).toContain('bind it to a variable');
  expect((await compileExpression('($found := $match(text, /a/); $found ?: [])')).reasonForChild).toBe('$match');
});

describe('refused functions', () => {
  const forms = (name: string): string[] => [
    `$${name}()`,
    `($f := $${name}; $f())`,
    `$map([1], $${name})`,
    `$${name}(?)`,
    `$steps ~> $${name}`,
    `$steps ~> $${name}()`,
    `function($x){ $${name}() }(1)`,
    `steps[$${name}() > 1]`,
    `steps^(>$${name}())`,
    `{"a": $${name}()}`,
    `steps{role: $${name}()}`,
    `[$${name}()]`,
    `$ ~> |$|{"t": $${name}()}|`,
    `true ? 1 : $${name}()`,
    `$missing ?: $${name}()`,
    `$${name}() ?? 1`,
    `steps.($x := $${name}; $x)`,
    `-$${name}()`,
  ];

  test.each([...REFUSED_FUNCTIONS].flatMap(forms))('%s is found', async (source) => {
    const { refused } = await compileExpression(source);
    expect(refused.length).toBeGreaterThan(0);
    for (const use of refused) expect(source.slice(use.offset, use.offset + use.name.length + 1)).toBe(`$${use.name}`);
  });

  test.each(['now', '$steps.now', '"$now()"', '$steps.`$random`', '/* $now() */ 1'])(
    '%s names none',
    async (source) => {
      expect((await compileExpression(source)).refused).toEqual([]);
    },
  );
});

describe('names', () => {
  test('every function that is said to be JSONata’s exists in JSONata', async () => {
    const { default: jsonata } = await import('jsonata');
    for (const name of JSONATA_FUNCTIONS) {
      expect([name, await jsonata(`$type($${name})`).evaluate({})]).toEqual([name, 'function']);
    }
  });

  test.each([
    ['$steps[-1].meta.ok = $start.depth', []],
    ['$lst("a").x', ['lst']],
    ['($x := 1; $x + $y)', ['y']],
    ['$map($steps, function($s, $i){ $s.role = $i })', []],
    ['$steps@$s#$i.meta[$s.role = $i]', []],
    ['$steps.meta#$i[$i = 1]', []],
    ['$$.steps ~> $count()', []],
    ['$meta.x', ['meta']],
    ['$last($role)', ['role']],
    ['$first("a") != $last("a") and $visits("a") > 1', []],
  ])('the unknown names of %s are %j', async (source, names) => {
    const unknown = unknownVariables(await inspectExpression(source), RULE_NAMES);
    expect(unknown.map((use) => use.name)).toEqual(names);
    for (const use of unknown) expect(source.slice(use.offset, use.offset + use.name.length + 1)).toBe(`$${use.name}`);
  });

  test('a check knows $meta, and no $threadId', async () => {
    const expression = await inspectExpression('$meta.id = $threadId');
    expect(unknownVariables(expression, CHECK_NAMES).map((use) => use.name)).toEqual(['threadId']);
  });

  test('roles that are named as literals are listed where they are', async () => {
    const { roles } = await inspectExpression('$last("coder").ok and $visits("tester") > 1 and $first($x).ok');
    expect(roles).toEqual([
      { functionName: 'last', role: 'coder', offset: 0 },
      { functionName: 'visits', role: 'tester', offset: 22 },
    ]);
  });
});

describe('comparisons of a list with a value', () => {
  test.each([
    ["$steps[role='x'].meta.status = 'y'", "$last('x').status"],
    ["'y' = $steps['x' = role].output.status", "$last('x').status"],
    ["$steps[role='x'].meta.`$status` != 'y'", "$last('x').`$status`"],
    ['$steps.meta.n > 3', '$steps[-1]'],
    ["$steps[role='x' and meta.ok].meta.n = 3", '$steps[…][-1]'],
    ["$steps[role='x'].text = 'done'", '$steps[…][-1]'],
    ["$visits('x') > 0 and $steps[role='x'].meta.a.b = 1", "$last('x').a.b"],
    ["$steps[role='x'].meta.list[0] = 1", "$last('x').list"],
    ['$steps[$not(meta.ok)].meta.n = 1', '$steps[…][-1]'],
  ])('%s offers %s', async (source, suggestion) => {
    const { listComparisons } = await inspectExpression(source);
    expect(listComparisons).toEqual([{ list: 'steps', offset: source.indexOf('$steps'), suggestion }]);
  });

  test.each([
    ["$branches.status = 'y'", true],
    ['$branches[end.returnCode = 0].meta.n > 3', true],
    ["$branches[-1].status = 'y'", false],
    ["$branches[key = 'a'].status = 'y'", false],
    ["$count($branches[status = 'y']) > 1", false],
  ])('%s compares a list of branches: %s', async (source, isFound) => {
    const { listComparisons } = await inspectExpression(source);
    expect(listComparisons).toEqual(
      isFound ? [{ list: 'branches', offset: 0, suggestion: '$count($branches[…])' }] : [],
    );
  });

  test.each([
    "$steps[-1].meta.status = 'y'",
    "$steps[role='x'][-1].meta.status = 'y'",
    "$steps[role='x'][$count($) - 1].meta.n = 1",
    "$count($steps[role='x'].meta.n) = 2",
    "'y' in $steps[role='x'].meta.status",
    "$last('x').status = 'y'",
    "($steps[role='x'])[-1].meta.status = 'y'",
    '$steps[meta.n = 1]',
    '$steps^(>meta.n)[0].meta.n = 1',
    '$count($steps) = 2',
  ])('%s is none', async (source) => {
    expect((await inspectExpression(source)).listComparisons).toEqual([]);
  });
});

test('a hundred expressions are looked through once, in whatever order they are asked for', async () => {
  const sources = Array.from({ length: 100 }, (_, number) => `$visits('role ${number}') > 1`);
  // What other tests have asked for is forgotten while these are.
  for (let round = 0; round < 2; round++) for (const source of sources) await compileExpression(source);
  const compiled = await Promise.all(sources.map((source) => compileExpression(source)));
  expect(await Promise.all(sources.toReversed().map((source) => compileExpression(source)))).toSatisfy(
    (again: unknown[]) => again.toReversed().every((one, at) => one === compiled[at]),
  );
});
