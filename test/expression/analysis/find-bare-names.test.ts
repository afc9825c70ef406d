import { expect, test } from 'vitest';
import { inspectExpression } from '../../../src/expression/analysis/inspect-expression.ts';

test.each([
  ['score > 7', ['score']],
  ["status = 'good' and $visits('a') > 1", ['status']],
  ["visits('b') > 3", ['visits']],
  ['$not(ready) or $count(list) > 2', ['ready', 'list']],
  ['a.b.c ? d : [e, {"f": g}]', ['a', 'd', 'e', 'g']],
  ['($x := y; $x.z)', ['y']],
  ["$last('a').score > 7", []],
  ["$steps[role = 'a'][-1].meta.score", []],
  ['steps[-1].meta.ok and start.depth = 0', ['steps', 'start']],
  ['$map($steps, function($s) { $s.meta.n + n })', []],
  ['$steps.(meta.n * 2)', []],
  ["$filter($steps, function($s) { $s.role = 'a' })^(hash).hash", []],
  ["'text' & 5 = true", []],
])('%s looks up %j in the input document', async (source, names) => {
  expect((await inspectExpression(source)).bareNames.map(({ name }) => name)).toEqual(names);
});
