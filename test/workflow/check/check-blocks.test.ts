import { describe, expect, test } from 'vitest';
import { validateWorkflow } from '../../../src/workflow/check/validate-workflow.ts';
import { findings, loadText } from '../memory-reader.ts';

/** A workflow with two blocks that is right, with lines changed. */
function sample(changes: Record<string, string> = {}): string {
  let text = `name: sample
isolation: worktree
roles:
  planner:
    description: plans
    schema:
      properties: { $status: { const: planned }, phases: { type: array }, key: { type: string } }
      required: [$status, phases]
  critic:
    description: reads
    schema: { properties: { $status: { enum: [good, bad] } }, required: [$status] }
blocks:
  build:
    each: { over: "$last('planner').phases", as: phase, key: phase.id, workflow: implement, prompt: 'Build {{ phase.title }} ({{ key }}) of {{ phases.size }}.' }
    isolation: worktree
    merge: { order: key }
    join: all
  reviews:
    isolation: shared
    branches:
      first: { role: critic, prompt: 'Read {{ branches.a.meta.x }}, {{ order }} and {{ _body }}.' }
      second: { workflow: review }
    join: { atLeast: 2 }
graph:
  $START:
    new: { role: planner, prompt: '{{ start.prompt }}' }
  planner:
    planned: { role: build }
  build:
    - { when: "$branches[0].status = 'done' and $count($branches) > 1", role: reviews }
    - { role: $END, prompt: '{{ order | join }} {{ conflicts.size }}' }
  reviews:
    joined: { role: $END }
    failed: { role: $END, returnCode: 1 }
`;
  for (const [old, changed] of Object.entries(changes)) {
    expect(text).toContain(old);
    text = text.replace(old, () => changed);
  }
  return text;
}

test('a workflow with blocks and without mistakes is reduced and nothing is said', async () => {
  const { definition, diagnostics } = await loadText(sample());
  expect(diagnostics).toEqual([]);
  expect(Object.keys(definition?.blocks ?? {})).toEqual(['build', 'reviews']);
});

const over = `over: "$last('planner').phases"`;
const key = 'key: phase.id';
const join = 'join: all';
/** A join that is JSONata. */
const joinedBy = (expression: string): Record<string, string> => ({ [join]: `join: ${JSON.stringify(expression)}` });

/** Other edges from the first block. */
function withEdges(edges: string): Record<string, string> {
  return {
    '\n    - { when: "$branches[0].status = \'done\' and $count($branches) > 1", role: reviews }': ` ${edges}`,
    "\n    - { role: $END, prompt: '{{ order | join }} {{ conflicts.size }}' }": '',
    'planned: { role: build }': 'planned: [{ when: \'$threadId = "x"\', role: reviews }, { role: build }]',
    '{{ branches.a.meta.x }}, {{ order }} and ': '',
  };
}

async function check(_name: string, changes: Record<string, string>, expected: string[]): Promise<void> {
  expect(findings(await loadText(sample(changes)))).toEqual(expected);
}

async function hintOf(changes: Record<string, string>, code?: string): Promise<string | undefined> {
  const { diagnostics } = await loadText(sample(changes));
  return diagnostics.find((found) => code === undefined || found.code === code)?.hint;
}

describe('each mistake is found where it stands', () => {
  test.each<[string, Record<string, string>, string[]]>([
    [
      'a reserved name of a block',
      {
        '  reviews:\n    isolation': '  $reviews:\n    isolation',
        'role: reviews': 'role: $reviews',
        '  reviews:\n    joined': '  $reviews:\n    joined',
      },
      ['18 error reserved-name: $reviews'],
    ],
    [
      'a name that is none',
      {
        '  reviews:\n    isolation': '  re views:\n    isolation',
        'role: reviews': 'role: re views',
        '  reviews:\n    joined': '  re views:\n    joined',
      },
      ['18 error bad-name: re views'],
    ],
    ['a key that is none', { 'first: {': '"a/b": {' }, ['21 error bad-name: "a/b"']],
    ['a reserved key', { 'first: {': '__first: {' }, ['21 error reserved-name: __first']],
    [
      'a block with the name of a role',
      { '  critic:\n': '  reviews:\n', 'role: critic': 'role: reviews' },
      [
        '11 error status-without-edge: good',
        '11 error status-without-edge: bad',
        '18 error name-taken: reviews',
        '33 error edge-without-status: joined',
        '34 error edge-without-status: failed',
      ],
    ],
    [
      'a role that is stored where a branch is',
      { '  critic:\n': '  reviews.second:\n', 'role: critic': 'role: reviews.second' },
      ['22 error name-taken: second'],
    ],
    [
      'two branches that are stored in one place',
      {
        'reviews:\n    isolation: shared\n':
          'reviews.first:\n    { branches: { x: { role: critic } }, join: all }\n  reviews:\n    isolation: shared\n',
        'first: {': 'first.x: {',
        'role: reviews }': 'role: reviews.first }',
        '  reviews:\n    joined': '  reviews.first: [{ role: reviews }]\n  reviews:\n    joined',
      },
      ['23 error name-taken: first.x'],
    ],
    [
      'a role of a branch that is none',
      { 'role: critic': 'role: critik' },
      ['9 error unreachable-role: critic', '21 error unknown-role: critik'],
    ],
    [
      'a branch that runs a block',
      { 'role: critic': 'role: build' },
      ['9 error unreachable-role: critic', '21 error unknown-role: build'],
    ],
    [
      'branches of which nothing says where they work',
      { '    isolation: shared\n': '' },
      ['18 error missing-isolation: reviews'],
    ],
    [
      'branches of an each of which nothing says where they work',
      { '    isolation: worktree\n    merge: { order: key }\n': '', ' {{ conflicts.size }}': '' },
      ['13 error missing-isolation: build'],
    ],
    [
      'one branch needs no isolation',
      { '    isolation: shared\n': '', '      second: { workflow: review }\n': '', 'atLeast: 2': 'atLeast: 1' },
      [],
    ],
    [
      'a merge of what lies in one place',
      { 'isolation: worktree\n    merge': 'isolation: shared\n    merge' },
      ['16 error merge-without-isolation: merge'],
    ],
    [
      'a merge into what is not apart',
      { 'isolation: worktree\nroles': 'isolation: shared\nroles' },
      ['16 error merge-without-isolation: merge'],
    ],
    ['a number that no branches reach', { 'atLeast: 2': 'atLeast: 3' }, ['23 error join-never-holds: 3']],
  ])('%s', check);
});

describe('expressions of blocks are checked as those of rules', () => {
  test.each<[string, Record<string, string>, string[]]>([
    ['a list that is no JSONata', { [over]: "over: '$last('" }, ["14 error expression-syntax: '"]],
    ['a list by a refused function', { [over]: 'over: $shuffle($steps)' }, ['14 error refused-function: $shuffle']],
    [
      'a list of a role that is none',
      { [over]: `over: "$last('planer').phases"` },
      ["14 error unknown-role: $last('planer')"],
    ],
    ['a list of an unknown variable', { [over]: 'over: $phases' }, ['14 error unknown-variable: $phases']],
    ['a list without a $', { [over]: 'over: phases' }, ['14 warning bare-name: phases']],
    [
      'a list by branches where no block is before',
      { [over]: 'over: $branches' },
      ['14 error unknown-variable: $branches'],
    ],
    [
      'a list by branches of a block before',
      { [over]: 'over: $branches.meta.x', '- { when': '- { when: "false", role: build }\n    - { when' },
      [],
    ],
    ['an item by its plain name and as a variable', { [key]: "key: '$phase.id & phase.id'" }, []],
    ['a key that is another name', { [key]: 'key: fase.id' }, ['14 warning bare-name: fase']],
    ['a key that looks at steps', { [key]: 'key: $count($steps)' }, ['14 error unknown-variable: $steps']],
    ['a key that is empty', { [key]: "key: ' '" }, ["14 error expression-syntax: ' '"]],
    ['a join over branches and their number', joinedBy('$count($branches[status = "ok"]) * 2 > $total'), []],
    ['a join by names that are members of its input', joinedBy('$count(branches) = total'), []],
    ['a join that looks at steps', joinedBy('$steps[-1].meta.ok'), ['17 error unknown-variable: $steps']],
    ['a join that compares a list', joinedBy("$branches.status = 'ok'"), ['17 warning list-comparison: $branches']],
    [
      'a join that filters and compares a list',
      joinedBy("$branches[end.returnCode = 0].status = 'ok'"),
      ['17 warning list-comparison: $branches'],
    ],
    [
      'a join that compares one branch',
      joinedBy("$branches[-1].status = 'ok' and $branches[key = 'a'].status = 'ok'"),
      [],
    ],
    ['a join that is misspelt', joinedBy('All'), ['17 warning bare-name: All']],
    ['a join that is no JSONata', joinedBy('$count('), ['17 error expression-syntax: "']],
    [
      'branches after a role',
      { 'planned: { role: build }': 'planned: { role: build, when: "$count($branches) > 1" }' },
      [
        '28 warning no-fallback: { role: build, when: "$count($branches) > 1" }',
        '28 error unknown-variable: $branches',
      ],
    ],
  ])('%s', check);

  test('and with what may have been meant', async () => {
    expect(await hintOf(joinedBy('All'))).toBe("did you mean 'all'?");
    expect(await hintOf({ [key]: 'key: title' })).toBe('a field of the item is phase.title');
    expect(await hintOf(joinedBy('reviewers > 3'))).toContain('$branches');
    expect(await hintOf({ 'role: critic': 'role: critik' }, 'unknown-role')).toBe("did you mean 'critic'?");
    expect(await hintOf({ '    isolation: shared\n': '' })).toContain("'isolation: worktree'");
    expect(await hintOf({ 'isolation: worktree\nroles': 'roles' })).toBe("add 'isolation: worktree' to the workflow");
  });
});

describe('the item of an each has a name of its own', () => {
  test.each(['steps', 'start', 'threadId', 'branches', 'key', '_body', 'count', 'in', 'true'])(
    '%s is reserved',
    async (as) => {
      const [first] = findings(await loadText(sample({ 'as: phase': `as: ${JSON.stringify(as)}` })));
      expect(first).toContain(`14 error reserved-name: "${as}"`);
    },
  );

  test.each(['a-b', '1st', '__proto__', 'x y', 'x'.repeat(65)])('%s is none', async (as) => {
    const [first] = findings(await loadText(sample({ 'as: phase': `as: ${JSON.stringify(as)}` })));
    expect(first).toContain(`14 error bad-name: "${as}"`);
  });
});

describe('prompts of branches are checked as those of rules', () => {
  const prompt = 'Build {{ phase.title }} ({{ key }}) of {{ phases.size }}.';
  test.each<[string, Record<string, string>, string[]]>([
    [
      'a field that the role before does not report',
      { [prompt]: '{{ phasis }}' },
      ['14 error unknown-variable: phasis'],
    ],
    [
      'a field of one of two roles before',
      { [prompt]: '{{ phases }} {{ order }}', '- { when': '- { when: "false", role: build }\n    - { when' },
      [],
    ],
    ['a template that is none', { [prompt]: '{{ phase | upcas }}' }, ['14 error template-syntax: {{ phase | upcas }}']],
    ['the item where there is none', { '{{ order }}': '{{ phase }}' }, ['21 error unknown-variable: phase']],
    [
      'what nothing reported yet',
      {
        'role: planner, prompt': 'role: build, prompt',
        'planned: { role: build }': 'planned: { role: $END }',
        '- { when': '- { when: "false", role: planner }\n    - { when',
        [prompt]: '{{ x }}',
        [over]: 'over: $steps',
      },
      ['14 warning unknown-variable: x'],
    ],
    [
      'what nothing has reported',
      {
        'new: { role: planner': 'new: { role: reviews',
        '- { when': '- { when: "false", role: planner }\n    - { when',
        "role: $END, prompt: '{{ order | join }} {{ conflicts.size }}'": 'role: $END',
        '> 1", role: reviews': '> 1", role: build',
        'joined: { role: $END }': 'joined: { role: planner }',
        'Read {{ branches.a.meta.x }}, {{ order }} and {{ _body }}': 'Read {{ order }}',
      },
      ['21 warning unknown-variable: order'],
    ],
  ])('%s', check);
});

describe('rules are asked for each status of a block', () => {
  test.each<[string, Record<string, string>, string[]]>([
    ['failed', { '    failed: { role: $END, returnCode: 1 }\n': '' }, ['23 error status-without-edge: join']],
    [
      'conflict, where it merges',
      withEdges('{ joined: { role: $END }, failed: { role: $END } }'),
      ['17 error status-without-edge: join'],
    ],
    [
      'conflict, where it does not merge',
      { 'failed: {': 'conflict: { role: $END }\n    failed: {' },
      ['34 error edge-without-status: conflict'],
    ],
    [
      'joined and failed, where a comparison joins',
      { ...joinedBy('$count($branches) >= 2'), ...withEdges('{ joined: { role: $END } }') },
      ['17 error status-without-edge: join', '17 error status-without-edge: join'],
    ],
    [
      'each text that a join has, and no other',
      {
        ...joinedBy("$count($branches) > 1 ? 'enough'"),
        ...withEdges('{ enough: { role: $END }, conflict: { role: $END }, failed: { role: $END } }'),
      },
      [],
    ],
    [
      'no text that a join lacks',
      {
        ...joinedBy("$count($branches) > 1 ? 'enough'"),
        ...withEdges(
          '{ enough: { role: $END }, conflict: { role: $END }, failed: { role: $END }, joined: { role: $END } }',
        ),
      },
      ['29 error edge-without-status: joined'],
    ],
    [
      'none that a join works out',
      { ...joinedBy('$branches[0].status'), ...withEdges('{ enough: { role: $END } }') },
      ['17 error open-status: "$branches[0].status"'],
    ],
    [
      'all that a join may make up',
      {
        ...joinedBy('$branches[0].status'),
        ...withEdges('[{ when: \'$steps[-1].status = "enough"\', role: $END }]'),
      },
      ['13 warning no-fallback: build'],
    ],
  ])('%s', check);

  test('a block that is no place of the graph is never reached, a role that only branches run may be', async () => {
    const found = findings(await loadText(sample({ '> 1", role: reviews': '> 1", role: $END' })));
    expect(found).toContain('18 error unreachable-role: reviews');
    expect(found.join()).not.toContain('critic');
  });
});

test('a schema of its own is refused, and its own schema taken', async () => {
  const { definition } = await loadText(sample());
  const own = await validateWorkflow(definition);
  expect(own).toEqual({ definition, diagnostics: [] });
  const { diagnostics } = await loadText(
    sample({ '  reviews:\n    isolation': '  reviews:\n    schema: { type: object }\n    isolation' }),
  );
  expect(diagnostics).toContainEqual(
    expect.objectContaining({ code: 'block-schema', path: 'blocks.reviews.schema', line: 19 }),
  );
});
