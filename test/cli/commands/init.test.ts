import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { shippedNames } from '../../../src/cli/init/prepare-files.ts';
import { createCliRepository, createLoopRepository } from '../../helpers/cli.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../../helpers/temporary-repository.ts';

test('init makes a configuration that configures nothing yet, and is harmless the second time', async () => {
  const { dir, json, uwf } = createCliRepository();
  const created = ['.uwf/config.yaml', '.uwf/schemas/workflow.json', '.uwf/schemas/config.json'];
  expect(await json(['init'])).toEqual({ created, unchanged: [], configured: [], kept: [], outdated: [] });
  expect(existsSync(join(dir, '.uwf/workflows'))).toBe(true);
  expect(await json(['agent', 'list'])).toEqual([]);
  expect(await uwf(['init'])).toMatchObject({ code: 0, stdout: 'everything is there already\n' });
});

test.each(shippedNames())(
  'init --with %s brings a workflow that is valid, and whose agents are known',
  async (name) => {
    const { json, uwf, git } = createCliRepository();
    const { created } = (await json(['init', '--with', name])) as { created: string[] };
    expect(created).toContain(`.uwf/workflows/${name}.yaml`);
    expect(created.some((path) => path.endsWith('/config.yaml') && path !== '.uwf/config.yaml')).toBe(false);
    expect(await uwf(['workflow', 'validate', name, '--strict'])).toMatchObject({ code: 0 });
    for (const agent of (await json(['agent', 'list'])) as { name: string }[]) {
      expect(await uwf(['agent', 'show', agent.name])).toMatchObject({ code: 0 });
    }
    expect(git('for-each-ref')).toBe('');
    expect(await json(['init', '--with', name])).toMatchObject({ created: [], configured: [], kept: [] });
  },
);

test('each file that init writes names the schema by which an editor checks it, and which is as the command prints it', async () => {
  const { dir, uwf } = createCliRepository();
  await uwf(['init', '--with', 'solve-issue']);
  const schemas = ['.uwf/config.yaml', '.uwf/workflows/solve-issue.yaml', '.uwf/workflows/develop.yaml'].map((file) => {
    const [, address = ''] =
      /^# yaml-language-server: \$schema=(.+)\n/.exec(readFileSync(join(dir, file), 'utf8')) ?? [];
    return readFileSync(join(dir, dirname(file), address), 'utf8');
  });
  const printed = async (kind: string): Promise<string> => (await uwf(['schema', 'show', '--for', kind])).stdout;
  expect(schemas).toEqual([await printed('config'), await printed('workflow'), await printed('workflow')]);
});

test('a schema that was changed by hand is left, and the command that renews it is named', async () => {
  const { dir, uwf, write } = createCliRepository();
  write('.uwf/schemas/config.json', 'mine');
  expect(await uwf(['init'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('kept     .uwf/schemas/config.json'),
    stderr: expect.stringContaining('hint: uwf schema show --for config > .uwf/schemas/config.json\n'),
  });
  expect(readFileSync(join(dir, '.uwf/schemas/config.json'), 'utf8')).toBe('mine');
});

test.each([
  ['schema', 'show'],
  ['schema', 'show', 'content', '--for', 'config'],
  ['schema', 'show', '--for', 'thread'],
])('%s %s %s %s %s is no use', async (...argv) => {
  expect(await createCliRepository().uwf(argv)).toMatchObject({ code: 2 });
});

test('a workflow whose role is a workflow brings that one too', async () => {
  const { json } = createCliRepository();
  expect(await json(['init', '--with', 'solve-issue'])).toMatchObject({
    created: expect.arrayContaining(['.uwf/workflows/solve-issue.yaml', '.uwf/workflows/develop.yaml']),
  });
});

test('lines are added to a configuration, and what it says otherwise is left', async () => {
  const { dir, json, write } = createCliRepository();
  write(
    '.uwf/config.yaml',
    '# ours\nagents:\n  me: { package: "builtin:human" } # who else\ndefaultAgent: me\nroles:\n  find-regression.judge: me\n',
  );
  expect(await json(['init', '--with', 'find-regression'])).toMatchObject({
    configured: expect.arrayContaining(['agents.find-regression-pick', 'roles.find-regression.picker']),
    kept: ['roles.find-regression.judge'],
  });
  const text = readFileSync(join(dir, '.uwf/config.yaml'), 'utf8');
  expect(text).toMatch(/^# ours\n/);
  expect(text).toContain('# who else');
  expect(await json(['agent', 'list'])).toContainEqual(
    expect.objectContaining({ name: 'me', isDefault: true, roles: ['find-regression.judge'] }),
  );
});

test('a file that is something else stops it before anything is written', async () => {
  const { dir, says, write } = createCliRepository();
  write('.uwf/workflows/find-regression.yaml', 'mine\n');
  await says('init --with find-regression', 2, '.uwf/workflows/find-regression.yaml is there already');
  expect(existsSync(join(dir, '.uwf/config.yaml'))).toBe(false);
  expect(existsSync(join(dir, '.uwf/workflows/find-regression'))).toBe(false);
});

test.each([
  ['.uwf', 'folder'],
  ['.uwf', 'nowhere'],
  ['.uwf/workflows', 'folder'],
  ['.uwf/config.yaml', 'config.yaml'],
  ['.uwf/config.yaml', 'nowhere'],
  ['.uwf/workflows/find-regression', 'folder'],
  ['.uwf/workflows/find-regression.yaml', 'nowhere'],
])('%s that is a link is not written through: to %s', async (path, target) => {
  const { dir, says } = createCliRepository();
  const outside = createTemporaryFolder();
  mkdirSync(join(outside, 'folder'));
  writeFileSync(join(outside, 'config.yaml'), '# mine\n');
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  symlinkSync(join(outside, target), join(dir, path));
  await says('init --with find-regression', 2, `${path} is a link`);
  expect([...readdirSync(outside), ...readdirSync(join(outside, 'folder'))].toSorted()).toEqual([
    'config.yaml',
    'folder',
  ]);
  expect(readFileSync(join(outside, 'config.yaml'), 'utf8')).toBe('# mine\n');
});

test('a bare repository is told of its own configuration, and what is said works', async () => {
  const { dir, uwf, write } = createCliRepository({}, { bare: true });
  const file = join(dir, 'uwf/config.yaml');
  const added = createLoopRepository();
  for (const argv of [['init'], ['agent', 'list']]) {
    const { stderr } = await uwf(argv);
    expect(stderr).toContain(file);
    expect(stderr).not.toContain('.uwf/config.yaml');
  }
  expect(await uwf(['workflow', 'add', join(added.dir, '.uwf/workflows/loop.yaml')])).toMatchObject({ code: 0 });
  const { stderr } = await uwf(['run', 'loop', '-p', 'x']);
  expect(stderr).toContain(`add these lines to ${file} (`);
  expect(stderr).not.toContain('.uwf/config.yaml');
  const lines = /^ *agents:\n[^]*?: me$/m.exec(stderr)?.[0] ?? '';
  write('uwf/config.yaml', lines.replaceAll(/^ {6}/gm, ''));
  const { stdout } = await uwf(['agent', 'list']);
  expect(stdout).toMatch(/^me +builtin:human +loop\.writer/m);
});

test('what cannot be prepared is said', async () => {
  expect(await createCliRepository({}, { bare: true }).uwf(['init'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('bare'),
  });
  expect(await createCliRepository().uwf(['init', '--with', 'find-regresion'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("did you mean 'find-regression'?"),
  });
  expect(await createCliRepository({ '.uwf/config.yaml': 'a: [' }).uwf(['init', '--with', 'develop'])).toMatchObject({
    code: 2,
  });
});

describe('init --remote', () => {
  const refspecs = [
    '+refs/threads/*:refs/uwf/remotes/origin/threads/*',
    '+refs/history/*:refs/uwf/remotes/origin/history/*',
    '+refs/workflows/*:refs/uwf/remotes/origin/workflows/*',
    '+refs/uwf/removed/*:refs/uwf/remotes/origin/removed/*',
  ];

  test("adds to what git's own fetch brings, once, and changes nothing else of its configuration", async () => {
    const { dir, json, uwf, git } = createCliRepository();
    const server = createTemporaryRepository({ bare: true });
    git('remote', 'add', 'origin', server.dir);
    const before = git('config', '--local', '--list').split('\n');
    expect(await json(['init', '--remote', 'origin'])).toMatchObject({ refspecs });
    const added = refspecs.map((refspec) => `remote.origin.fetch=${refspec}`);
    expect(git('config', '--local', '--list').split('\n').toSorted()).toEqual([...before, ...added].toSorted());
    expect(await json(['init', '--remote=origin'])).toMatchObject({ created: [], refspecs: [] });
    expect((await uwf(['init', '--remote', 'origin'])).stdout).toBe('everything is there already\n');
    expect(existsSync(join(dir, '.uwf/workflows'))).toBe(true);
  });

  test('after it git fetch brings threads into refs of uwf, and prunes no thread of this repository', async () => {
    const { uwf, git } = createCliRepository();
    const server = createTemporaryRepository({ bare: true });
    git('remote', 'add', 'origin', server.dir);
    git('commit', '--allow-empty', '-qm', 'code');
    git('push', '-q', 'origin', 'HEAD:refs/heads/main', 'HEAD:refs/threads/01KTWEWZ760000000000000000');
    git('update-ref', 'refs/threads/01KTWEWZ760000000000000001', 'HEAD');
    expect(await uwf(['init', '--remote', 'origin'])).toMatchObject({ code: 0 });
    git('fetch', '-q', '--prune', 'origin');
    expect(git('for-each-ref', '--format=%(refname)').split('\n')).toEqual([
      'refs/heads/main',
      'refs/remotes/origin/main',
      'refs/threads/01KTWEWZ760000000000000001',
      'refs/uwf/remotes/origin/threads/01KTWEWZ760000000000000000',
    ]);
    expect(git('push', '--dry-run', '--porcelain', 'origin', 'main')).not.toContain('refs/threads');
  });

  test('works in a bare repository, and does nothing else there', async () => {
    const { dir, uwf, git } = createCliRepository({}, { bare: true });
    git('remote', 'add', 'up/stream', 'https://example.org/x.git');
    expect(await uwf(['init', '--remote', 'up/stream'])).toMatchObject({ code: 0 });
    expect(git('config', '--get-all', 'remote.up/stream.fetch').split('\n').slice(1)).toEqual(
      refspecs.map((refspec) => refspec.replace('origin', 'up/stream')),
    );
    expect(existsSync(join(dir, '.uwf'))).toBe(false);
  });

  test('with a remote that git does not know nothing is written', async () => {
    const { dir, uwf, git } = createCliRepository();
    git('remote', 'add', 'origin', 'https://example.org/x.git');
    const before = readFileSync(join(dir, '.git/config'), 'utf8');
    expect(await uwf(['init', '--remote', 'orign'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining("there is no remote 'orign'"),
    });
    expect(readFileSync(join(dir, '.git/config'), 'utf8')).toBe(before);
    expect(existsSync(join(dir, '.uwf'))).toBe(false);
  });
});
