import { describe, expect, test } from 'vitest';
import { chain } from '../../faults/scene.ts';
import { createCliRepository, type CliRepository, type CommandResult } from '../../helpers/cli.ts';
import { createTemporaryFolder, expectCleanFsck } from '../../helpers/temporary-repository.ts';

type Phase = { id: string; file: string; text: string };

/** Writes what its phase says; an arbiter keeps both sides of a conflict and notes what git showed it. */
const AGENT = `prompt=$(cat)
case "$UWF_ROLE" in
  planner) printf -- '---\\nphases: %s\\n---\\nA plan.\\n' "$PHASES"; exit;;
  coder)
    line=$(printf '%s' "$prompt" | sed -n 's/^Write \\(.*\\) into \\(.*\\)\\.$/\\1 \\2/p' | tail -1)
    echo "\${line% *}" > "\${line##* }";;
  arbiter)
    git status --porcelain > seen
    [ -z "$IDLE" ] || { printf -- '---\\n---\\nI look on.\\n'; exit; }
    for file in $(grep -l '^<<<<<<<' *); do sed -i '/^[<=>]\\{7\\}/d' "$file"; done;;
  tester) cat * > all;;
esac
printf -- '---\\n$status: done\\n---\\n%s is done.\\n' "$UWF_ROLE"`;

function team(order: 'key' | 'end', isolation = 'worktree'): string {
  return `name: team
isolation: ${isolation}
roles:
  planner: { schema: {} }
  arbiter: { schema: {} }
  tester: { schema: {} }
blocks:
  build:
    each:
      over: $last('planner').phases
      as: phase
      key: phase.id
      workflow: implement
      prompt: Write {{ phase.text }} into {{ phase.file }}.
      atOnce: 1
    isolation: worktree
    merge: { order: ${order} }
    join: all
graph:
  $START: { new: { role: planner } }
  planner: [{ role: build }]
  build:
    joined: { role: tester }
    conflict: { role: arbiter }
    failed: { role: $END, returnCode: 1 }
  arbiter: [{ role: tester }]
  tester: [{ role: $END }]
`;
}

type Ran = CliRepository & {
  env: Record<string, string>;
  result: CommandResult;
  steps: Record<string, unknown>[];
  node: Record<string, unknown>;
  thread: string;
};

type Wanted = { workflow?: string; variables?: Record<string, string>; code?: number };

async function run(
  phases: readonly Phase[],
  { workflow = team('key'), variables = {}, code = 0 }: Wanted = {},
): Promise<Ran> {
  const repository = createCliRepository({
    '.uwf/workflows/team.yaml': workflow,
    '.uwf/workflows/implement.yaml': chain('implement', ['coder']),
    '.uwf/config.yaml': JSON.stringify({
      agents: { sh: { package: 'builtin:command', config: { argv: ['sh', '-c', AGENT] } } },
      defaultAgent: 'sh',
    }),
    shared: 'base\n',
  });
  repository.git('add', '-A');
  repository.git('commit', '-qm', 'code');
  const env = { XDG_STATE_HOME: createTemporaryFolder(), PHASES: JSON.stringify(phases), ...variables };
  const result = await repository.uwf(['run', 'team', '-p', 'go', '--json'], { env });
  expect({ code: result.code, stderr: result.stderr, stdout: result.stdout.slice(-1500) }).toMatchObject({ code });
  const { thread } = JSON.parse(result.stdout.split('\n')[0] ?? '') as { thread: string };
  const listed = await repository.uwf(['step', 'list', thread, '--json'], { env });
  const steps = JSON.parse(listed.stdout) as Record<string, unknown>[];
  const head = String(steps[1]?.['head']);
  const { payload } = JSON.parse(repository.git('show', `${head}:step.json`)) as { payload: Record<string, unknown> };
  expect(await repository.uwf(['thread', 'verify', thread], { env })).toMatchObject({ code: 0 });
  expectCleanFsck(repository.dir);
  return { ...repository, env, result, steps, node: payload, thread };
}

/** The content of a file that a step recorded. */
function fileOf({ git, steps }: Ran, step: number, file: string): string {
  const snapshot =
    git('rev-parse', `${String(steps[step]?.['head'])}^@`)
      .split('\n')
      .at(-1) ?? '';
  return git('cat-file', 'blob', `${snapshot}:${file}`);
}

describe('the files of branches', () => {
  test('are merged, and the next role has all of them', async () => {
    const ran = await run([
      { id: 'b', file: 'two', text: '2' },
      { id: 'a', file: 'one', text: '1' },
    ]);
    expect(ran.result.code).toBe(0);
    expect(ran.steps.map(({ role, status }) => `${String(role)} ${String(status)}`)).toEqual([
      'planner null',
      'build joined',
      'tester done',
    ]);
    expect(fileOf(ran, 2, 'all')).toBe('1\nbase\n2');
    const { merge } = ran.node as { merge: { base: string; branches: { key: string; commit: string }[] } };
    expect(merge).toMatchObject({ isRepeatable: true, branches: [{ key: 'a' }, { key: 'b' }] });
    // The base is what the planner left; git's own merge of the two has the same tree.
    const [a, b] = merge.branches;
    const commitOn = (tree: string, parent: string): string =>
      ran.git('commit-tree', `${tree}^{tree}`, '-p', parent, '-m', 'side').trim();
    const sides = [a, b].map((side) => commitOn(side?.commit ?? '', merge.base));
    const plain = ran.git('merge-tree', '--write-tree', sides[0] ?? '', sides[1] ?? '').trim();
    expect((ran.node['workspace'] as { tree: string }).tree).toBe(plain);
  });

  test('are merged in the order of the ends where the block says so', async () => {
    const phases = [
      { id: 'b', file: 'two', text: '2' },
      { id: 'a', file: 'one', text: '1' },
    ];
    const ran = await run(phases, { workflow: team('end') });
    // One at a time, in the order of the list.
    expect(ran.node['merge']).toMatchObject({ branches: [{ key: 'b' }, { key: 'a' }] });
  });

  test('that conflict go to an arbiter, who sees the conflict as git shows it, and whose result is the merge', async () => {
    const ran = await run([
      { id: 'a', file: 'shared', text: 'from-a' },
      { id: 'b', file: 'shared', text: 'from-b' },
      { id: 'c', file: 'three', text: '3' },
    ]);
    expect(ran.steps.map(({ role }) => role)).toEqual(['planner', 'build', 'arbiter', 'tester']);
    expect(ran.node['meta']).toMatchObject({
      $status: 'conflict',
      conflicts: [{ path: 'shared', kind: 'contents', keys: ['a', 'b'] }],
    });
    expect(fileOf(ran, 1, 'shared')).toBe('<<<<<<< HEAD\nfrom-a\n=======\nfrom-b\n>>>>>>> branch/b');
    expect(fileOf(ran, 2, 'seen').split('\n')).toEqual(expect.arrayContaining(['UU shared', 'A  three']));
    expect(fileOf(ran, 2, 'shared')).toBe('from-a\nfrom-b');
    expect(fileOf(ran, 3, 'all')).toContain('from-a\nfrom-b');
  });

  const both = [
    { id: 'a', file: 'shared', text: 'from-a' },
    { id: 'b', file: 'shared', text: 'from-b' },
  ];

  test('whose conflict stays in them do not get into the branch, but into one of their own', async () => {
    const workflow = team('key')
      .replace('failed: { role: $END, returnCode: 1 }', 'failed: { role: arbiter }')
      .replace('conflict: { role: arbiter }', 'conflict: { role: $END, returnCode: 0 }');
    const { uwf, env, git, thread } = await run(both, { workflow });
    const main = git('rev-parse', 'main');
    expect(await uwf(['thread', 'merge', thread], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('left conflicts that are not resolved: shared'),
    });
    expect(git('rev-parse', 'main')).toBe(main);
    expect(await uwf(['thread', 'merge', thread, '--branch', 'look'], { env })).toMatchObject({ code: 0 });
    expect(git('show', 'look:shared')).toContain('<<<<<<<');
  });

  test('whose conflict an arbiter leaves in them suspend its turn', async () => {
    const { result, steps } = await run(both, { variables: { IDLE: 'yes' }, code: 4 });
    expect(result.stdout).toContain('arbiter left conflicts that are not resolved');
    expect(steps.map(({ role }) => role)).toEqual(['planner', 'build']);
  });

  test('leave no work tree and no branch behind', async () => {
    const ran = await run([{ id: 'a', file: 'one', text: '1' }]);
    expect(ran.git('worktree', 'list').split('\n')).toHaveLength(3);
    expect(await ran.uwf(['gc'], { env: ran.env })).toMatchObject({ code: 0 });
    expect(ran.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(ran.git('branch', '--list', 'uwf/*')).toBe('');
    expect(ran.git('status', '--porcelain')).toBe('');
  });
});
