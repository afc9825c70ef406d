import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileExpression } from '../../../src/expression/analysis/compile-expression.ts';
import type { RoleSeen, Scope } from '../../../src/expression/evaluation/scope.ts';
import { evaluate } from '../../../src/expression/evaluation/evaluate.ts';
import { ExpressionSyntaxError } from '../../../src/expression/expression-errors.ts';
import {
  ALL_SEEN,
  NOTHING_SEEN,
  STEP_MEMBERS,
  withoutRoles,
  type StepsSeen,
} from '../../../src/expression/analysis/steps-seen.ts';
import { standIns } from '../../../src/thread/step-view.ts';
import type { JsonObject } from '../../../src/json.ts';

const seenBy = async (source: string): Promise<StepsSeen> => (await compileExpression(source)).stepsSeen;

describe('what an expression sees of the steps', () => {
  test.each<[string, number, string[] | undefined, ('counts' | 'visits' | 'ends')?]>([
    ['true', 0, undefined],
    ['$branches[0].key = "a"', 1, undefined],
    ['$count(branches) > 1', 1, undefined],
    ['$start.depth > 1 and $threadId != ""', 0, undefined],
    ['$steps[-1].meta."$status" = "done"', 1, undefined],
    ['$steps[-1].text', 1, undefined],
    ['$contains($steps[-2].text, /a+/) or $steps[-1].role = "b"', 2, undefined],
    ['$exists($steps[-1])', 1, undefined],
    ['$count($steps) > 3', 0, undefined, 'counts'],
    ['$steps[-1000].role', 0, ['role']],
    ['$visits("coder") > 2', 0, undefined, 'visits'],
    ['$last("coder").ok', 0, undefined, 'ends'],
    ['$count($steps[role = "coder"]) > 1', 0, undefined, 'counts'],
    ['$exists($steps["coder" = role]) and $steps[-1].status = "ok"', 1, undefined, 'counts'],
    ['$count($steps[role = $start.workflow]) > 1', 0, ['role']],
    ['$count($steps[role = "coder"][0]) > 1', 0, ['role']],
    ['$visits($steps[0].role) > 1 and $first("a").ok', 0, ['role'], 'ends'],
    ['$steps[role = "coder"][-1].meta.ok', 0, ['role', 'meta']],
    ['$sum($steps.usage.inputTokens) > 10 and $steps[-1].text = ""', 1, ['usage']],
    ['$steps[-1][text = "a"].role', 1, ['text']],
    ['($x := $steps[-1]; $x.status)', 1, ['status']],
    ['$steps[-1].meta.items[status = "open"].name', 1, ['status']],
  ])('is no more than it looks at: %s', async (source, newest, members, byRole) => {
    const { counts, visits, ends, ...rest } = await seenBy(source);
    expect(rest).toEqual({ newest, members: members && new Set(members) });
    const found = Object.entries({ counts, visits, ends }).filter(([, is]) => is);
    if (members === undefined) expect(found.map(([name]) => name)).toEqual(byRole === undefined ? [] : [byRole]);
  });

  test('is everything where it is nested too deeply to be looked through', async () => {
    const lengths = Array.from({ length: 25 }, (_, at) => 2_000 + 250 * at);
    const parsed = await Promise.all(
      lengths.map((length) => seenBy(`${'a or '.repeat(length)}a`).catch((error: Error) => error)),
    );
    for (const seen of parsed) {
      if (seen instanceof Error) expect(seen).toBeInstanceOf(ExpressionSyntaxError);
      else expect([ALL_SEEN, NOTHING_SEEN]).toContainEqual(seen);
    }
  });

  test.each([
    '$steps',
    '$steps[0]',
    '$steps[role = "a"]',
    '$steps[$x].role = $string($steps)',
    '$string($)',
    '$$.steps.role',
    'steps[-1].role',
    '*',
    '$steps.*',
    '**.text',
    '$keys()',
    '$string()',
    '$steps[$string() = ""].role',
    '$steps.$string()',
    '$map($steps, $string)',
    '$filter($steps, function($s) { $s.role = "a" })',
    '($all := $steps; $count($all))',
    '($steps := [1]; $count($steps))',
    '($count := $string; $count($steps))',
    '$steps.{ "a": text }',
    '$steps{ role: $count(text) }',
    '$steps@$s.meta[$s.text = ""]',
    '$steps#$i.role',
    '$steps^(startedAtMs).role',
    '$steps.meta.%.text',
    '$steps ~> $count()',
    '$steps.(text)',
    '$count($steps.(text))',
    '$lookup($steps[0], "text")',
    '$steps[0] = $steps[1]',
    '$reduce($steps, $append)',
    '[$steps]',
  ])('is everything where there is no telling: %s', async (source) => {
    expect(await seenBy(source)).toEqual(ALL_SEEN);
  });
});

describe('an expression', () => {
  const member = fc.constantFrom(...STEP_MEMBERS, 'meta.ok', 'meta.list', 'usage.turns', 'nothing');
  const literal = fc.constantFrom('1', '0', '"a"', '"b"', 'true', 'null', '"text"');
  const index = fc.constantFrom('[-1]', '[-2]', '[0]', '[1]', '[-1][0]', '[]', '');
  const filter = fc.tuple(member, fc.constantFrom('=', '!=', '<'), literal).map((parts) => `[${parts.join(' ')}]`);
  const list = fc
    .tuple(fc.constantFrom('$steps', 'steps', '$$.steps', '$x'), fc.oneof(index, filter), fc.oneof(index, filter))
    .map((parts) => parts.join(''));
  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      literal,
      list,
      fc.tuple(list, member).map((parts) => parts.join('.')),
      fc.tuple(fc.constantFrom('last', 'first', 'visits'), literal).map(([name, role]) => `$${name}(${role})`),
      fc
        .tuple(
          fc.constantFrom('count', 'exists', 'not', 'string', 'boolean', 'sum', 'type', 'length'),
          tie('expression'),
        )
        .map(([name, inner]) => `$${name}(${inner})`),
      fc
        .tuple(tie('expression'), fc.constantFrom('=', '!=', '&', 'and', 'or', 'in', '+', '~>'), tie('expression'))
        .map((parts) => `(${parts.join(' ')})`),
      fc.tuple(tie('expression'), tie('expression')).map(([value, then]) => `($x := ${value}; ${then})`),
      fc.tuple(tie('expression'), tie('expression')).map((parts) => `$lookup(${parts.join(', ')})`),
      fc.tuple(tie('expression'), member).map(([inner, name]) => `(${inner}).${name}`),
      fc.tuple(list, tie('expression')).map(([inner, then]) => `${inner}.(${then})`),
      fc.tuple(list, tie('expression')).map(([inner, then]) => `${inner}[${then}].role`),
    ),
  }));
  const step = fc.record({
    role: fc.constantFrom('a', 'b'),
    meta: fc.record({ ok: fc.boolean(), list: fc.array(fc.integer({ max: 3 })), text: fc.constantFrom('a', 'text') }),
    text: fc.constantFrom('', 'a', 'b', 'text'),
    hash: fc.string({ maxLength: 2 }),
    status: fc.constantFrom(null, 'a'),
    agent: fc.constantFrom('a', 'b'),
    usage: fc.record({ turns: fc.integer() }),
    startedAtMs: fc.nat(3),
    completedAtMs: fc.nat(3),
  });

  const resultOver = (source: string, steps: JsonObject[], roles?: Scope['roles']): Promise<unknown> => {
    const bindings = { steps, start: { depth: 0 }, threadId: 'a' };
    return evaluate(source, { input: bindings, bindings, roles }, { timeoutMs: 5_000 }).catch(
      (error: Error) => error.message,
    );
  };

  const rolesOf = (steps: readonly { role: string; meta: JsonObject }[]): Map<string, Required<RoleSeen>> => {
    const roles = new Map<string, Required<RoleSeen>>();
    for (const { role, meta } of steps) {
      const { visits, first } = roles.get(role) ?? { visits: 0, first: meta };
      roles.set(role, { visits: visits + 1, first, last: meta });
    }
    return roles;
  };

  test('gives the same over all that differ in what it does not see alone', async () => {
    let narrowed = 0;
    const runs = Number(process.env['SUITE_STEPS_SEEN'] ?? 500);
    await fc.assert(
      fc.asyncProperty(expression, fc.array(step, { maxLength: 5 }), step, async (source, steps, other) => {
        const compiled = await compileExpression(source).catch(() => undefined);
        // What needs the child is analysed no differently, and takes a process each time.
        if (compiled === undefined || compiled.reasonForChild !== undefined) return;
        const { newest, counts, visits, ends, members: listed } = compiled.stepsSeen;
        const isByRole = listed === undefined && (counts || visits || ends);
        const members = isByRole ? undefined : withoutRoles(compiled.stepsSeen).members;
        if (members?.size === STEP_MEMBERS.length) return;
        narrowed += 1;
        const whole = steps.map((one) => ({ ...one, output: one.meta }));
        const end = whole.length - Math.min(newest, whole.length);
        const blank = (one: JsonObject): JsonObject => ({
          ...one,
          ...Object.fromEntries(
            Object.entries({ ...other, output: other.meta }).filter(([name]) => members?.has(name) !== true),
          ),
        });
        const older = members === undefined ? [] : whole.slice(0, end).map(blank);
        const roles = rolesOf(whole);
        const rest = isByRole && counts ? standIns(roles, whole.slice(end)) : older;
        const seen = [...rest, ...whole.slice(end)];
        const given = isByRole ? roles : undefined;
        expect(await resultOver(source, seen, given)).toEqual(await resultOver(source, whole));
      }),
      { numRuns: runs },
    );
    expect(narrowed).toBeGreaterThan(runs / 20);
  });
});
