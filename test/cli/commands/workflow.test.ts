import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCliRepository, createLoopRepository, loopWorkflow } from '../../helpers/cli.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

test('list shows files and registered workflows, and which of them cannot be read', async () => {
  const { json, uwf, write } = createLoopRepository();
  await uwf(['workflow', 'add', 'loop']);
  write('.uwf/workflows/broken.yaml', 'name: broken\n');
  const list = (await json(['workflow'])) as { hash: string }[];
  expect(list).toMatchObject([
    { name: 'broken', hash: null, origin: '.uwf/workflows/broken.yaml', problem: expect.any(String) },
    {
      name: 'loop',
      origin: '.uwf/workflows/loop.yaml',
      problem: null,
      description: 'writes until the checker accepts',
    },
    { name: 'loop', origin: 'registered' },
  ]);
  expect(list[1]?.hash).toBe(list[2]?.hash);
});

test('add gives one hash for one definition, and registering again changes nothing', async () => {
  const { json, uwf, git } = createLoopRepository();
  const first = (await json(['workflow', 'add', 'loop'])) as { hash: string; head: string };
  expect(first).toMatchObject({ name: 'loop', ref: 'refs/workflows/loop' });
  expect(await json(['workflow', 'add', '.uwf/workflows/loop.yaml'])).toEqual(first);
  expect(git('rev-parse', 'refs/workflows/loop')).toBe(first.head);
  expect(await uwf(['run', first.hash, '-p', 'x'])).toMatchObject({ code: 0 });
  expect(await json(['workflow', 'rm', 'loop'])).toEqual({ name: 'loop', head: first.head });
  expect(await uwf(['workflow', 'rm', 'loop'])).toMatchObject({ code: 2 });
});

test('show prints roles and reduced rules', async () => {
  const { uwf, json } = createLoopRepository();
  const { stdout } = await uwf(['workflow', 'show', 'loop']);
  expect(stdout).toContain("3  checker -> writer  when $steps[-1].meta.`$status` = 'rejected'");
  expect(await json(['workflow', 'show', 'loop', '--json=moderator'].slice(0, 3))).toMatchObject({
    name: 'loop',
    roles: { writer: { systemPrompt: 'You write.' } },
    moderator: expect.arrayContaining([{ from: '__start__', to: 'writer', when: null }]),
    limits: null,
  });
});

test('validate, show and graph name the blocks', async () => {
  const { uwf, json, write } = createCliRepository();
  write(
    '.uwf/workflows/both.yaml',
    `name: both
roles: { critic: { schema: {} } }
blocks:
  reviews: { isolation: shared, branches: { first: { role: critic }, second: { workflow: review } }, join: any }
moderator: [{ from: __start__, to: reviews }, { from: reviews, to: __end__ }]
`,
  );
  expect((await uwf(['workflow', 'validate', 'both'])).stdout).toContain('both is valid: 1 role, 1 block, 2 rules');
  const { stdout } = await uwf(['workflow', 'show', 'both']);
  expect(stdout).toContain(
    'reviews  2 branches, join any, isolation shared\n    first  role critic\n    second  workflow review',
  );
  expect(await json(['workflow', 'show', 'both'])).toMatchObject({ blocks: { reviews: { join: 'any' } } });
  expect((await uwf(['workflow', 'graph', 'both'])).stdout).toContain('║ second   workflow review');
});

test('a file that is a link to itself is named as one', async () => {
  const { dir, says } = createCliRepository();
  mkdirSync(join(dir, '.uwf/workflows'), { recursive: true });
  symlinkSync('round.yaml', join(dir, '.uwf/workflows/round.yaml'));
  await says('workflow show round', 2, 'uwf: .uwf/workflows/round.yaml is a symbolic link that leads to no file');
});

test('a file that leads out of the repository is named as one, and hides no other', async () => {
  const { dir, uwf, json } = createLoopRepository();
  const outside = createTemporaryFolder();
  writeFileSync(join(outside, 'evil.yaml'), 'secret: words');
  symlinkSync(join(outside, 'evil.yaml'), join(dir, '.uwf/workflows/evil.yaml'));
  expect(await json(['workflow', 'list'])).toMatchObject([
    { name: 'evil', problem: expect.stringContaining('lies outside') },
    { name: 'loop', problem: null },
  ]);
  for (const command of [['validate'], ['show'], ['add'], ['graph'], ['simulate']]) {
    const { code, all } = await uwf(['workflow', ...command, '.uwf/workflows/evil.yaml']);
    expect([code, all]).toEqual([1, expect.stringContaining('lies outside')]);
    expect(all).not.toContain('secret');
  }
  mkdirSync(join(dir, 'sub/.uwf'), { recursive: true });
  symlinkSync(outside, join(dir, 'sub/.uwf/workflows'));
  const { stdout } = await uwf(['workflow', 'list'], { cwd: join(dir, 'sub') });
  expect(stdout).not.toContain(outside);
  expect(stdout.match(/evil/g)).toHaveLength(3);
});

describe('validate', () => {
  test('says that a good one is good', async () => {
    const { uwf, json } = createLoopRepository();
    expect(await uwf(['workflow', 'validate', 'loop'])).toMatchObject({
      code: 0,
      stdout: 'loop is valid: 2 roles, 4 rules\n',
    });
    expect(await json(['workflow', 'validate', 'loop'])).toEqual({ valid: true, diagnostics: [] });
  });

  test('reports every mistake on stdout with its place, and exits 1', async () => {
    const { uwf, write } = createLoopRepository();
    write(
      '.uwf/workflows/loop.yaml',
      loopWorkflow.replace('to: checker', 'to: chekcer').replace('from: __start__', 'from: __strat__'),
    );
    const { code, stdout } = await uwf(['workflow', 'validate', 'loop']);
    expect(code).toBe(1);
    expect(stdout.match(/loop\.yaml:\d+:\d+: error:/g)?.length).toBeGreaterThanOrEqual(2);
    expect(stdout).toMatch(/not valid: \d+ errors/);
    const { stdout: asJson } = await uwf(['workflow', 'validate', 'loop', '--json']);
    expect(JSON.parse(asJson)).toMatchObject({
      valid: false,
      diagnostics: expect.arrayContaining([
        expect.objectContaining({ line: 13, column: expect.any(Number), severity: 'error' }),
      ]),
    });
  });

  test('prints nothing of a workflow that a terminal would obey', async () => {
    const { uwf, write } = createLoopRepository();
    write('.uwf/workflows/loop.yaml', loopWorkflow.replace('to: checker', 'to: "\\e[2Jchecker"'));
    const { code, stdout } = await uwf(['workflow', 'validate', 'loop']);
    expect(code).toBe(1);
    expect(stdout).toContain('\uFFFD[2Jchecker');
    expect(stdout).not.toContain('\u001B');
  });

  test('--strict lets warnings fail', async () => {
    const { uwf, says, write } = createLoopRepository();
    write(
      '.uwf/workflows/loop.yaml',
      loopWorkflow.replace(
        "$steps[-1].meta.`$status` = 'rejected'",
        "$steps[role='checker'].meta.`$status` = 'rejected'",
      ),
    );
    await says('workflow validate loop', 0, 'warning');
    expect(await uwf(['workflow', 'validate', 'loop', '--strict'])).toMatchObject({ code: 1 });
  });
});

test.each(['text', 'mermaid', 'dot'])('graph draws every role as %s', async (format) => {
  const { uwf } = createLoopRepository();
  const { code, stdout } = await uwf(['workflow', 'graph', 'loop', '--format', format]);
  expect(code).toBe(0);
  for (const role of ['writer', 'checker']) expect(stdout).toContain(role);
});

test('agent list and show tell who does what and what it may be told', async () => {
  const { json, uwf, says } = createLoopRepository();
  expect(await json(['agent', 'list'])).toEqual([
    { name: 'script', package: 'builtin:scripted', isDefault: true, roles: [] },
  ]);
  expect(await json(['agent', 'show', 'script'])).toMatchObject({
    name: 'script',
    package: 'builtin:scripted',
    configSchema: expect.any(Object),
  });
  expect((await uwf(['agent', 'show', 'builtin:command'])).stdout).toContain('argv (needed)');
  await says('agent show scirpt', 2, "did you mean 'script'?");
  expect(await uwf(['agent', 'show', 'builtin:comand'])).toMatchObject({ code: 6 });
});

test('agent list names coding agents that are installed, with the line to add', async () => {
  const { dir, uwf, write } = createCliRepository();
  write('programs/opencode', '#!/bin/sh\n');
  chmodSync(join(dir, 'programs/opencode'), 0o755);
  const env = { PATH: `${join(dir, 'programs')}:${process.env['PATH'] ?? ''}` };
  const { stderr } = await uwf(['agent', 'list'], { env });
  expect(stderr).toContain("opencode is installed; to use it, add to 'agents' in .uwf/config.yaml: opencode: {");
});

test('where nothing is configured it is said how to begin', async () => {
  const { uwf } = createCliRepository();
  expect(await uwf(['agent', 'list'])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('uwf init'),
  });
  expect(await uwf(['workflow', 'list'])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('uwf init --with'),
  });
});

test('a bare repository without workflows is told of what works there', async () => {
  const { uwf } = createCliRepository({}, { bare: true });
  const register = "'uwf workflow add <file>'";
  expect((await uwf(['workflow', 'list'])).stderr).toBe(`hint: there is none yet; ${register} registers one\n`);
  const { code, stderr } = await uwf(['run', 'fix', '-p', 'x']);
  expect(code).toBe(2);
  expect(stderr).toContain(`hint: register one with ${register}\n`);
  expect((await createCliRepository().uwf(['run', 'fix', '-p', 'x'])).stderr).toContain('write one to .uwf/workflows/');
});
