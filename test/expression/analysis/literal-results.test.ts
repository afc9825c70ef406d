import { expect, test } from 'vitest';
import { literalResults } from '../../../src/expression/analysis/inspect-expression.ts';

test.each<[string, (string | boolean)[] | undefined]>([
  ['$count($branches) >= 2', [true, false]],
  ["'good' in $branches.status and $total > 1", [true, false]],
  ["$exists($branches[status = 'bad'])", [true, false]],
  ['$not($boolean($branches))', [true, false]],
  ["$branches[status = 'bad'] ~> $exists", [true, false]],
  ['$branches ~> $count', undefined],
  ["$count($branches) > 1 ? 'enough'", ['enough']],
  ["$total > 3 ? 'many' : $total > 1 ? 'some' : false", ['many', 'some', false]],
  ["($n := $count($branches); $n > 1 ? 'enough' : null)", ['enough']],
  ["$total > 1 ?: 'one'", [true, false, 'one']],
  ["'a'", ['a']],
  ['true', [true]],
  ['()', []],
  ['$branches[0].status', undefined],
  ["$total > 1 ? $branches[0].status : 'few'", undefined],
  ['$count($branches)', undefined],
  ["'a' & $total", undefined],
  ['($total > 1)[]', undefined],
  ["($total > 1){'a': 1}", undefined],
  ['2', undefined],
  ["$string('a')", undefined],
])('%s: %j', async (source, expected) => {
  const results = await literalResults(source);
  expect(results && [...results]).toEqual(expected);
});
