import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCliRepository, type CliRepository } from '../../helpers/cli.ts';
import { expectCleanFsck, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';

const root = resolve(import.meta.dirname, '../../..');
const samplePackage = join(root, 'fixtures/packages/uwf-agent-sample');

const workflow = `name: changes
description: lists what has changed
roles:
  lister:
    description: lists the files that have changed
    schema:
      properties: { $status: { enum: [changed, unchanged] }, files: { type: array, items: { type: string } } }
      required: [$status, files]
moderator:
  - { from: __start__, to: lister, when: null }
  - { from: lister, to: __end__, when: null, prompt: "{{ steps[0].meta.files.size }} files" }
`;

type Binding = { package?: string; version?: string; config?: Record<string, unknown> };

/** A repository with a commit, and an agent of a package bound in its configuration. */
function createRepository({ package: name = 'uwf-agent-sample', ...binding }: Binding = {}): CliRepository {
  const agents = { changes: { package: name, ...binding } };
  const repository = createCliRepository({
    '.gitignore': 'node_modules/\n',
    'README.md': 'Read me.\n',
    '.uwf/workflows/changes.yaml': workflow,
    // JSON is YAML.
    '.uwf/config.yaml': JSON.stringify({ agents, defaultAgent: 'changes' }, undefined, 1),
  });
  repository.git('add', '.');
  repository.git('commit', '--quiet', '-m', 'first');
  return repository;
}

/** As `npm install uwf-agent-sample` would have it. */
function install({ dir }: CliRepository): void {
  cpSync(samplePackage, join(dir, 'node_modules/uwf-agent-sample'), { recursive: true });
}

test('an installed package does a role, from the built command', () => {
  const repository = createRepository({ version: '^1.2.0', config: { since: 'HEAD' } });
  install(repository);
  repository.write('new.txt', 'new\n');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'bin/uwf.js'), 'run', 'changes', '-p', 'What is new?'],
    { cwd: repository.dir, env: isolatedGitEnvironment, encoding: 'utf8', input: '' },
  );
  expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: '1 files\n' });
  expectCleanFsck(repository.dir);
});

test('the step tells which version of the package ran, and what of its configuration may be known', async () => {
  const repository = createRepository({ version: '^1.2.0', config: { since: 'HEAD', limit: 3 } });
  install(repository);
  // Its own descriptor says 1.4.0 all the same: what counts is what was installed.
  const manifest = JSON.parse(readFileSync(join(samplePackage, 'package.json'), 'utf8')) as object;
  repository.write('node_modules/uwf-agent-sample/package.json', JSON.stringify({ ...manifest, version: '1.9.1' }));
  const descriptor = "export const packageDescriptor = { name, version: '1.4.0', ...uwf };";
  const source = readFileSync(join(samplePackage, 'index.js'), 'utf8');
  repository.write(
    'node_modules/uwf-agent-sample/index.js',
    source.replace(/export const packageDescriptor .*/, descriptor),
  );
  const events = await repository.lines(['run', 'changes', '-p', 'What is new?']);
  const ended = events.find(({ event }) => event === 'step.finished');
  expect(ended).toMatchObject({ outcome: 'unchanged' });
  const step = (await repository.json(['cas', 'get', String(ended?.['step'])])) as { payload: { agent: string } };
  expect(await repository.json(['cas', 'get', step.payload.agent])).toMatchObject({
    payload: {
      name: 'changes',
      package: 'uwf-agent-sample',
      version: '1.9.1',
      config: { since: 'HEAD', limit: 3 },
    },
  });
});

test('a package that is installed says what it can be told', async () => {
  const repository = createRepository({ version: '~1.4.0' });
  install(repository);
  const { stdout } = await repository.uwf(['agent', 'show', 'changes']);
  expect(stdout).toContain('uwf-agent-sample 1.4.0');
  expect(stdout).toContain('the commit to compare with');
});

describe('nothing is stored, and it is said what is amiss, where', () => {
  test.each<[what: string, binding: Binding, code: number, words: string[]]>([
    ['the version is another', { version: '^2.0.0' }, 6, ['installed as 1.4.0 in ', 'and ^2.0.0 is wanted']],
    ['the version is no range', { version: 'newest' }, 2, ['agents.changes.version', "'newest'", 'config.yaml:']],
    ['the package is missing', { package: 'uwf-agent-none' }, 6, ["'npm install uwf-agent-none'"]],
    [
      'a key is mistyped',
      { config: { sinse: 'HEAD' } },
      2,
      ["agents.changes.config must not have the property 'sinse'", '.uwf/config.yaml:3:'],
    ],
    ['a value is wrong', { config: { limit: 'all' } }, 2, ['agents.changes.config.limit must be an integer']],
  ])('%s', async (_, binding, code, words) => {
    const repository = createRepository(binding);
    install(repository);
    const refs = repository.git('for-each-ref');
    const result = await repository.uwf(['run', 'changes', '-p', 'What is new?']);
    expect(result.code, result.stderr).toBe(code);
    for (const word of words) expect(result.stderr).toContain(word);
    expect(repository.git('for-each-ref')).toBe(refs);
  });
});

const manifest = '{ "version": "1.0.0", "type": "module", "exports": "./index.js" }';

describe('no step is taken, and it is said what is amiss, where', () => {
  const sound =
    'export const packageDescriptor = { name: "mine", version: "1.0.0", capabilities: [], configSchema: {} };';

  test.each<[what: string, source: string, words: string[]]>([
    [
      'the package throws when it is imported',
      'throw new Error("no such platform")',
      ["the agent package 'mine'", 'cannot be loaded: Error: no such platform'],
    ],
    ['it makes no agents', sound, ["its 'createAgent' is no function"]],
    ['it needs what is not installed', 'import "left-out";', ['cannot be loaded', "'left-out'"]],
  ])('%s', async (_, source, words) => {
    const repository = createRepository({ package: 'mine' });
    repository.write('node_modules/mine/package.json', manifest);
    repository.write('node_modules/mine/index.js', source);
    const result = await repository.uwf(['run', 'changes', '-p', 'What is new?']);
    expect(result.code, result.stderr).toBe(6);
    for (const word of words) expect(result.stderr).toContain(word);
    expect(await repository.json(['thread', 'list'])).toMatchObject([{ status: 'idle', steps: 0 }]);
  });
});

test('commands that look import no package', async () => {
  const repository = createRepository({ package: 'mine', config: { secret: 'words' } });
  repository.write('node_modules/mine/package.json', manifest);
  repository.write('node_modules/mine/index.js', 'throw process.exit(99)');
  const thread = (await repository.json(['thread', 'start', 'changes', '-p', 'x'])) as { thread: string };
  const looks = [
    ['agent', 'show', 'changes'],
    ['agent', 'list'],
    ['doctor'],
    ['thread', 'show', thread.thread],
    ['workflow', 'show', 'changes'],
    ['__complete', 'agent', 'show', ''],
  ];
  for (const look of looks) expect(await repository.uwf(look)).toMatchObject({ code: 0 });
  expect((await repository.uwf(['agent', 'show', 'changes'])).stdout).toContain("does not say it under 'uwf'");
  expect(await repository.json(['agent', 'show', 'changes'])).toMatchObject({ capabilities: null, configSchema: null });
  const record = repository.git('show', `refs/threads/${thread.thread}:agents/lister.json`);
  expect(JSON.parse(record)).toMatchObject({ payload: { package: 'mine', version: '1.0.0', config: {} } });
});

test('an agent that breaks the contract ends its turn and is named', async () => {
  const repository = createRepository({ package: 'mine' });
  repository.write('node_modules/mine/package.json', manifest);
  repository.write(
    'node_modules/mine/index.js',
    `export const packageDescriptor = { name: 'mine', version: '1.0.0', capabilities: [], configSchema: {} };
     export const createAgent = () => ({ run: async () => 'Done.' });`,
  );
  const { code, stderr } = await repository.uwf(['run', 'changes', '-p', 'What is new?']);
  expect(code).toBe(6);
  expect(stderr).toContain("the agent package 'mine' gave a reply that breaks the contract: it must be an object");
  expect(await repository.json(['thread', 'list'])).toMatchObject([{ status: 'idle' }]);
  expectCleanFsck(repository.dir);
});
