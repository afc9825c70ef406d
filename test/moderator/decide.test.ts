import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';

import { sharedEvaluator } from '../../src/expression/evaluation/evaluator-child.ts';
import type { JsonObject } from '../../src/json.ts';
import { UwfError } from '../../src/errors.ts';
import { decide, decideAtLimit, type DecisionContext } from '../../src/moderator/decide.ts';
import type { StepView } from '../../src/thread/step-view.ts';
import type { Rule } from '../../src/workflow/definition.ts';

afterAll(() => sharedEvaluator().close());

function step(role: string, meta: JsonObject = {}, text = `text of ${role}`): StepView {
  const status = typeof meta.$status === 'string' ? meta.$status : null;
  return {
    role,
    meta,
    output: meta,
    text,
    hash: '0123456789ABC',
    status,
    agent: 'scripted',
    usage: null,
    startedAtMs: 1,
    completedAtMs: 2,
  };
}

function after(...steps: StepView[]): DecisionContext {
  const start = { prompt: 'write a poem', workflow: 'loop', depth: 0, startedAtMs: 0 };
  return { threadId: '01JABCDEFGHJKMNPQRSTVWXYZ0', start, steps };
}

function rule(from: string, to: string, when: string | null = null, more: Partial<Rule> = {}): Rule {
  return { from, to, when, ...more };
}

const loop: Rule[] = [
  rule('__start__', 'writer'),
  rule('writer', 'checker'),
  rule('checker', 'writer', "$steps[-1].meta.`$status` = 'rejected'", { prompt: 'Again: {{ reason }}' }),
  rule('checker', '__end__'),
  rule('__resume__', 'checker'),
];

describe('rules are tried in their order', () => {
  test.each<[string, DecisionContext, object]>([
    ['before the first step __start__ decides', after(), { kind: 'role', rule: 0, role: 'writer', prompt: undefined }],
    ['then the last role', after(step('writer')), { kind: 'role', rule: 1, role: 'checker' }],
    [
      'the first whose condition holds',
      after(step('writer'), step('checker', { $status: 'rejected', reason: 'too short' })),
      { kind: 'role', rule: 2, role: 'writer', prompt: 'Again: too short' },
    ],
    [
      'else the next',
      after(step('writer'), step('checker', { $status: 'accepted' })),
      { kind: 'end', rule: 3, returnCode: 0 },
    ],
    [
      'whatever was the last role, __resume__ decides after a resume',
      { ...after(step('writer'), step('checker', { $status: 'accepted' })), isResumed: true },
      { kind: 'role', rule: 4, role: 'checker' },
    ],
  ])('%s', async (_, context, decision) => {
    expect(await decide(loop, context)).toMatchObject(decision);
  });

  test('a rule before an unconditional one goes first, and one behind it never', async () => {
    const rules = [rule('a', 'b', 'false'), rule('a', 'c'), rule('a', 'd', 'true')];
    expect(await decide(rules, after(step('a')))).toMatchObject({ rule: 1, role: 'c' });
  });

  test('conditions behind the one that decides are not evaluated', async () => {
    const rules = [rule('a', 'b', 'true'), rule('a', 'c', '1 + "x"'), rule('a', 'd', '][')];
    expect(await decide(rules, after(step('a')))).toMatchObject({ rule: 0, role: 'b' });
  });

  test('rules from other roles are not evaluated', async () => {
    expect(await decide([rule('x', 'b', ']['), rule('a', 'c')], after(step('a')))).toMatchObject({ rule: 1 });
  });
});

describe('conditions see the thread', () => {
  const context = after(step('a', { n: 1 }), step('b', { n: 2, list: [] }), step('a', { n: 3 }));
  test.each([
    ['$steps[-1].meta.n = 3', true],
    ['$steps[0].output.n = 1', true],
    ['steps[1].text = "text of b"', true],
    ['$first("a").n = 1 and $last("a").n = 3', true],
    ['$visits("a") = 2', true],
    ['$count($steps) = 3', true],
    ['$start.prompt = "write a poem" and start.depth = 0', true],
    ['$threadId = threadId and $length($threadId) = 26', true],
    ['$steps[-1].usage', false],
    ['$last("b").list', false],
    ['$last("nobody").n = 3', false],
    ['$meta.n', false],
  ])('%s is %s', async (when, isTrue) => {
    const decision = await decide([rule('a', 'yes', when), rule('a', 'no')], context);
    expect(decision).toMatchObject({ kind: 'role', role: isTrue ? 'yes' : 'no' });
  });
});

describe('after the step of a block', () => {
  const end = { outcome: 'completed', returnCode: 0, summary: '' };
  const block = {
    $status: 'joined',
    order: ['b', 'a'],
    branches: { a: { status: 'bad', meta: { n: 1 }, end }, b: { status: 'good', meta: null, end } },
  };
  const decideAfter = async (when: string, meta: JsonObject): Promise<unknown> => {
    const context = after(step('x', { n: 1 }), step('reviews', meta));
    const decision = await decide([rule('reviews', 'yes', when), rule('reviews', 'no')], context);
    return decision.kind === 'role' ? decision.role : decision;
  };

  test.each([
    ["$branches[0].key = 'b' and $branches[1].key = 'a'", 'yes'],
    ["$branches[status = 'bad'].meta.n = 1", 'yes'],
    ['$count($branches) = 2 and $count(branches) = 2', 'yes'],
    ['$branches[0].end.returnCode = 0', 'yes'],
    ["$join($branches.key, ',') = 'b,a'", 'yes'],
    ['$count($branches) = 3', 'no'],
  ])('conditions see its branches in their order: %s is %s', async (when, role) => {
    expect(await decideAfter(when, block)).toBe(role);
  });

  test.each<[string, JsonObject]>([
    ['of a role', { $status: 'joined' }],
    ['whose branches have another form', { ...block, branches: { a: {}, b: {} } }],
    ['whose order names other branches', { ...block, order: ['a', 'c'] }],
    ['whose order is no list of texts', { ...block, order: ['a', 1] }],
    ['whose branches are a list', { ...block, branches: [] }],
  ])('they are not there after a step %s', async (_name, meta) => {
    expect(await decideAfter('$exists($branches) or $exists(branches)', meta)).toBe('no');
  });

  test('nor before the first step, nor once a role has followed', async () => {
    const rules = (from: string): Rule[] => [rule(from, 'yes', '$exists($branches)'), rule(from, 'no')];
    expect(await decide(rules('__start__'), after())).toMatchObject({ role: 'no' });
    expect(await decide(rules('x'), after(step('reviews', block), step('x')))).toMatchObject({ role: 'no' });
  });

  test('templates have them by their keys', async () => {
    const prompt = '{{ branches.a.meta.n }} {{ branches.b.status }} {{ order | join: "," }}';
    const decision = await decide([rule('reviews', 'x', null, { prompt })], after(step('reviews', block)));
    expect(decision).toMatchObject({ prompt: '1 good b,a' });
  });
});

describe('a rule’s templates', () => {
  test('see the last step’s meta, its text, the steps, the start and the thread', async () => {
    const prompt = '{{ reason }}|{{ _body }}|{{ steps[0].role }}|{{ start.prompt }}|{{ threadId }}';
    const decision = await decide(
      [rule('b', 'c', null, { prompt })],
      after(step('a'), step('b', { reason: 'why' }, 'the text')),
    );
    expect(decision).toMatchObject({ prompt: 'why|the text|a|write a poem|01JABCDEFGHJKMNPQRSTVWXYZ0' });
  });

  test('see what the role reported, where it has fields of the same names, and its text as _body', async () => {
    const meta = { _body: 'x', steps: 'x', start: 'x', threadId: 'x' };
    const prompt = '{{ _body }}|{{ steps }}|{{ start }}|{{ threadId }}';
    expect(await decide([rule('a', 'b', null, { prompt })], after(step('a', meta)))).toMatchObject({
      prompt: 'text of a|x|x|x',
    });
  });

  test('make the location', async () => {
    const decision = await decide(
      [rule('a', 'b', null, { location: '{{ path }}/src' })],
      after(step('a', { path: 'lib' })),
    );
    expect(decision).toMatchObject({ kind: 'role', location: 'lib/src', prompt: undefined });
  });

  test('make the summary of an end, beside its return code', async () => {
    const rules = [rule('a', '__end__', null, { prompt: 'found {{ commit }}', returnCode: 3 })];
    expect(await decide(rules, after(step('a', { commit: 'abc' })))).toEqual({
      kind: 'end',
      rule: 0,
      returnCode: 3,
      summary: 'found abc',
    });
  });
});

describe('what is wrong with the rules is a decision that names the rule', () => {
  test.each<[string, Partial<Rule>, string, string]>([
    ['no JSONata', { when: '$steps[' }, 'when', 'is not JSONata'],
    ['a type error', { when: '1 + "a"' }, 'when', 'failed'],
    ['a function that varies', { when: '$random() > 0.5' }, 'when', 'refused'],
    ['an alias of one', { when: '($f := $now; $f() > "2026")' }, 'when', 'refused'],
    ['no Liquid', { prompt: '{% if %}' }, 'prompt', 'is not Liquid'],
    ['an empty prompt', { prompt: '  {{ missing }}\n' }, 'prompt', 'renders to nothing'],
    ['an empty location', { location: '{{ missing }}' }, 'location', 'renders to nothing'],
  ])('%s', async (_, part, partName, reason) => {
    const rules = [rule('x', 'y'), rule('a', 'b', 'false'), rule('a', 'c', null, part)];
    const decision = await decide(rules, after(step('a')), { timeoutMs: 300 });
    expect(decision).toMatchObject({
      kind: 'failed',
      rule: 2,
      error: { code: 'rule-failed', kind: 'data', rule: 2, from: 'a', to: 'c', part: partName },
    });
    const { error } = decision as Extract<typeof decision, { kind: 'failed' }>;
    expect(error.message).toMatch(/^rule 3 \(a -> c\) /);
    expect(error.message).toContain(reason);
    expect(error).toMatchObject({ expression: Object.values(part)[0] });
  });

  const doubled = '{% assign x = "x" %}{% for i in (1..22) %}{% assign x = x | append: x %}{% endfor %}';
  test.each<[name: string, part: Partial<Rule>, reason: string]>([
    ['an endless recursion', { when: '($f := function($x){ $f($x) }; $f(1))' }, 'did not end within 300 ms'],
    ['one that is too deep', { when: '($f := function($x){ 1 + $f($x) }; $f(1))' }, 'Stack overflow'],
    ['backtracking', { when: `$contains("${'a'.repeat(40)}b", /^(a+)+$/)` }, 'did not end within 300 ms'],
    ['200 MB of padding', { when: "$pad('', 2e8, 'xy') = ''" }, 'the expression'],
    ['a large range', { prompt: '{% for i in (1..100000000) %}x{% endfor %}' }, '8000000 characters and list items'],
    ['a long location', { location: `${doubled}{{ x }}{{ x }}` }, 'it makes more than'],
  ])('%s leaves it undecided', async (_, part, reason) => {
    const rules = [rule('x', 'y'), rule('a', 'c', null, part), rule('a', 'd', null)];
    const decision = await decide(rules, after(step('a')), { timeoutMs: 300 });
    expect(decision).toMatchObject({ kind: 'undecided', rule: 1, error: { code: 'rule-undecided', kind: 'data' } });
    const { message } = (decision as Extract<typeof decision, { kind: 'undecided' }>).error;
    expect(message).toMatch(/^rule 2 \(a -> c\) has a \w+ that exceeds its limits: /);
    expect(message).toContain(reason);
  });

  test('an empty summary', async () => {
    const rules = [rule('a', '__end__', null, { prompt: '{{ missing }}' })];
    expect(await decide(rules, after(step('a')))).toMatchObject({ kind: 'failed', rule: 0, error: { part: 'prompt' } });
  });

  test('none that holds lists those that were tried', async () => {
    const rules = [rule('a', 'b', 'false'), rule('x', 'y'), rule('a', 'c', '$visits("a") > 1')];
    const decision = await decide(rules, after(step('a')));
    expect(decision).toMatchObject({
      kind: 'failed',
      rule: undefined,
      error: { code: 'no-rule-matches', from: 'a', tried: [0, 2] },
    });
    const { error } = decision as Extract<typeof decision, { kind: 'failed' }>;
    expect(error.message).toBe(
      'no rule from \'a\' holds; tried were:\n  rule 1 (a -> b) when false\n  rule 3 (a -> c) when $visits("a") > 1',
    );
  });

  test.each([
    [after(), '__start__'],
    [after(step('stranger')), 'stranger'],
    [{ ...after(step('a')), isResumed: true }, '__resume__'],
  ])('none from there at all', async (context, from) => {
    const decision = await decide([rule('a', 'b')], context);
    expect(decision).toMatchObject({
      kind: 'failed',
      rule: undefined,
      error: { from, tried: [], message: `there is no rule from '${from}'` },
    });
  });
});

describe('deciding is a function of values', () => {
  const fields = {
    ok: fc.boolean(),
    n: fc.integer({ min: 0, max: 5 }),
    list: fc.array(fc.string(), { maxLength: 3 }),
  };
  const meta = fc.record(fields, { noNullPrototype: true });
  const history = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), meta), { maxLength: 8 });
  const conditions = fc.constantFrom(
    null,
    '$steps[-1].meta.ok',
    '$last("a").n > $visits("b")',
    '$count($first("c").list) = 0',
    '$steps[meta.n > 2]',
    '$join($steps[-1].meta.list) = ""',
    '$contains($steps[-1].text, /[ab]$/)',
    '$sum($steps.meta.n) in [1, 2, 3]',
  );
  const end = fc.constantFrom('a', 'b', 'c', '__start__');
  const ruleSets = fc.array(
    fc.tuple(
      end,
      fc.constantFrom('a', 'b', 'c', '__end__'),
      conditions,
      fc.constantFrom(undefined, 'go', '{{ n }} of {{ steps.size }}'),
    ),
    { maxLength: 10 },
  );

  test('the same rules and context give the same decision, and stay as they were', async () => {
    await fc.assert(
      fc.asyncProperty(history, ruleSets, async (roles, drafts) => {
        const context = after(...roles.map(([role, fields]) => step(role, fields)));
        const rules = drafts.map(([from, to, when, prompt]) =>
          rule(from, to, when, prompt === undefined ? {} : { prompt }),
        );
        const before = structuredClone({ context, rules });
        const first = await decide(rules, context);
        expect(await decide(structuredClone(rules), structuredClone(context))).toEqual(first);
        expect({ context, rules }).toStrictEqual(before);
      }),
      { numRuns: 150 },
    );
  });

  test('a decision names a rule from the last role, and none before it held unconditionally', async () => {
    await fc.assert(
      fc.asyncProperty(history, ruleSets, async (roles, drafts) => {
        const rules = drafts.map(([from, to, when]) => rule(from, to, when));
        const decision = await decide(rules, after(...roles.map(([role, fields]) => step(role, fields))));
        const from = roles.at(-1)?.[0] ?? '__start__';
        const before = rules.slice(0, decision.rule ?? rules.length).filter((candidate) => candidate.from === from);
        expect(before.every((candidate) => candidate.when !== null)).toBe(true);
        if (decision.rule !== undefined) expect(rules[decision.rule]?.from).toBe(from);
      }),
      { numRuns: 150 },
    );
  });
});

describe('where a limit keeps a role from running', () => {
  const rules = [
    rule('writer', 'checker', 'true', { on: 'limit', prompt: 'Look.' }),
    rule('writer', 'writer'),
    rule('checker', 'writer', 'false', { on: 'limit' }),
    rule('checker', 'writer', ')(', { on: 'limit' }),
    rule('reader', 'writer', 'false', { on: 'limit' }),
    rule('reader', 'writer'),
  ];

  test('the rules for limits decide, and the others do not', async () => {
    expect(await decideAtLimit(rules, after(step('writer')))).toEqual({
      kind: 'role',
      rule: 0,
      role: 'checker',
      prompt: 'Look.',
      location: undefined,
    });
    expect(await decide(rules, after(step('writer')))).toMatchObject({ kind: 'role', rule: 1, role: 'writer' });
  });

  test('nothing is decided where none of them holds', async () => {
    expect(await decideAtLimit(rules, after(step('reader')))).toBeUndefined();
    expect(await decideAtLimit(rules, after())).toBeUndefined();
  });

  test('one that is wrong is a failure', async () => {
    expect(await decideAtLimit(rules, after(step('checker')))).toMatchObject({ kind: 'failed', rule: 3 });
  });
});

describe('what is not the fault of a rule is thrown as it is', () => {
  const failing = (error: Error): DecisionContext => {
    const meta = Object.defineProperty({}, 'x', {
      enumerable: true,
      get: () => {
        throw error;
      },
    });
    return after(step('writer', meta));
  };
  const rules = [rule('writer', 'checker', '$last("writer").x = 1', { prompt: 'x' })];
  const templates = [rule('writer', 'checker', null, { prompt: '{{ x }}' })];

  test.each<[string, Error]>([
    ['an error of the program', new TypeError('broken')],
    ['an error of the machine', new UwfError('no memory', { code: 'x', kind: 'environment' })],
  ])('%s', async (_, error) => {
    await expect(decide(rules, failing(error))).rejects.toBe(error);
    await expect(decide(templates, failing(error))).rejects.toBe(error);
  });

  test('but an error of the data is the fault of the rule', async () => {
    const error = new UwfError('bad data', { code: 'x', kind: 'data', hint: 'mend it' });
    expect(await decide(rules, failing(error))).toMatchObject({ kind: 'failed', rule: 0, error: { cause: error } });
    expect(await decide(templates, failing(error))).toMatchObject({ kind: 'failed', error: { part: 'prompt' } });
  });
});
