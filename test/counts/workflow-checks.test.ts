import { afterEach, expect, test, vi } from 'vitest';
import * as inspection from '../../src/expression/analysis/inspect-expression.ts';
import * as templates from '../../src/expression/template/template.ts';
import { nearestName } from '../../src/text/nearest-name.ts';
import { validateWorkflow } from '../../src/workflow/check/validate-workflow.ts';
import { loadText } from '../workflow/memory-reader.ts';

vi.mock('../../src/expression/analysis/inspect-expression.ts', { spy: true });
vi.mock('../../src/expression/template/template.ts', { spy: true });
vi.mock('../../src/text/nearest-name.ts', { spy: true });

afterEach(() => {
  vi.clearAllMocks();
});

/** A graph in which an anchor gives many roles the same edges. */
function repeated(roles: number, mistake = ''): string {
  const names = Array.from({ length: roles }, (_, index) => `r${index}`);
  const others = names.slice(1);
  return [
    'name: sample',
    'roles:',
    '  r0: &role { schema: { properties: { n: { type: integer } } } }',
    ...others.map((name) => `  ${name}: *role`),
    'graph:',
    '  $START: [{ role: r0 }]',
    '  r0: &edges',
    ...others.map((name) => `    - { role: ${name}, when: '$visits("${name}") < 1', prompt: 'Go on after {{ n }}.' }`),
    `    - { role: $END, when: '$visits("r0") > 3'${mistake}, prompt: 'Ends after {{ n }}.' }`,
    '    - { role: r0 }',
    ...others.map((name) => `  ${name}: *edges`),
    '',
  ].join('\n');
}

test('an expression or a template that many rules share is parsed once', async () => {
  const { definition, diagnostics } = await loadText(repeated(20));
  expect(diagnostics).toEqual([]);
  expect(definition?.moderator).toHaveLength(1 + 20 * 21);
  expect(inspection.inspectExpression).toHaveBeenCalledTimes(20);
  expect(templates.templateVariables).toHaveBeenCalledTimes(2);
});

test('a mistake in an expression or a template that many rules share is reported for each rule', async () => {
  const role = { schema: { properties: { n: { type: 'integer' } } } };
  const moderator = [
    { from: '__start__', to: 'r0', when: null },
    ...['r0', 'r1', 'r2'].flatMap((from) => [
      { from, to: '__end__', when: '$visit(1) and' },
      { from, to: 'r1', when: '$visits("r9") > 1', prompt: 'Go on after {{ m }}.' },
      { from, to: 'r2', when: null },
    ]),
  ];
  const { diagnostics } = await validateWorkflow({
    name: 'sample',
    roles: { r0: role, r1: role, r2: role },
    moderator,
  });
  const found = diagnostics.map(({ code, path }) => `${path} ${code}`).toSorted();
  expect(found).toEqual(
    [1, 4, 7]
      .flatMap((rule) => [
        `moderator[${rule}].when expression-syntax`,
        `moderator[${rule + 1}].when unknown-role`,
        `moderator[${rule + 1}].prompt unknown-variable`,
      ])
      .toSorted(),
  );
  expect(inspection.inspectExpression).toHaveBeenCalledTimes(2);
  expect(templates.templateVariables).toHaveBeenCalledTimes(1);
});

test('a wrong name that many rules have is compared with the roles as often as one that a single rule has', async () => {
  const schema = {};
  const withRules = async (count: number): Promise<number> => {
    vi.clearAllMocks();
    const many = Array.from({ length: count }, (_, index) => ({ from: 'riter', to: 'chekker', when: `$x${index}` }));
    const { diagnostics } = await validateWorkflow({
      name: 'sample',
      roles: { writer: { schema }, checker: { schema } },
      moderator: [
        { from: '__start__', to: 'writer', when: null },
        { from: 'writer', to: 'checker', when: null },
        { from: 'checker', to: '__end__', when: null },
        ...many,
      ],
    });
    expect(diagnostics.filter(({ code }) => code === 'unknown-role')).toHaveLength(2 * count);
    // The other comparisons are those of the variables, which are all different.
    return vi.mocked(nearestName).mock.calls.filter(([name]) => name === 'riter' || name === 'chekker').length;
  };
  expect(await withRules(50)).toBe(await withRules(1));
});
