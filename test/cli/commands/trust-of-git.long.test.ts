import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTemporaryFolder, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';
import { createPair, pairConfig } from '../../helpers/untrusted.ts';

type Pair = ReturnType<typeof createPair>;

const root = resolve(import.meta.dirname, '../../..');
const everything = { env: { UWF_TRUST: 'all' } };

/** A repository with an ended thread whose steps recorded files, a remote, and a canary for programs of git. */
async function createScene(): Promise<Pair & { canary: string; hasRun: () => boolean; thread: string }> {
  const repository = createPair({ '.uwf/config.yaml': pairConfig({ snapshot: { mode: 'on' } }) });
  const outside = createTemporaryFolder();
  repository.git('init', '-q', '--bare', `${outside}/remote.git`);
  repository.git('remote', 'add', 'origin', `${outside}/remote.git`);
  repository.git('add', '-A');
  repository.git('commit', '-qm', 'first');
  repository.git('push', '-q', 'origin', 'HEAD');
  const { stdout } = await repository.uwf(['run', 'pair', '-p', 'go', '--json'], everything);
  const [thread = ''] = /01[0-9A-Z]{24}/.exec(stdout) ?? [];
  const canary = join(outside, 'ran');
  const hasRun = (): boolean => {
    const isThere = existsSync(canary);
    rmSync(canary, { force: true });
    return isThere;
  };
  return { ...repository, canary, hasRun, thread };
}

async function outcome(repository: Pair, argv: readonly string[]): Promise<string> {
  const { code, stderr } = await repository.uwf(argv);
  return code === 6 ? `6 ${/would run: (.*)$/m.exec(stderr)?.[1] ?? stderr}` : `${code}`;
}

describe('a program of the repository that reaches a remote', () => {
  test.each([
    ['push', ['push', '--all']],
    ['a push to a name', ['push', '--all', 'origin']],
    ['fetch', ['fetch']],
    ['sync', ['sync', '--all']],
    ['thread list --remote', ['thread', 'list', '--remote']],
  ])('%s needs a word', async (_, argv) => {
    const repository = await createScene();
    repository.git('config', 'remote.origin.url', 'ssh://host.invalid/remote.git');
    repository.git('config', 'core.sshCommand', `touch ${repository.canary}; false`);
    expect(await outcome(repository, argv)).toBe('6 git');
    expect(repository.hasRun()).toBe(false);
    expect(await repository.uwf(['trust', 'git'])).toMatchObject({ code: 0 });
    expect(await outcome(repository, argv)).not.toMatch(/^6/);
    expect(repository.hasRun()).toBe(true);
    repository.git('config', 'core.sshCommand', `touch ${repository.canary} ; false`);
    expect(await outcome(repository, argv)).toBe('6 git');
    expect(repository.hasRun()).toBe(false);
  });

  test('thread rm --remote removes nothing before', async () => {
    const repository = await createScene();
    repository.git('config', 'core.sshCommand', `touch ${repository.canary}`);
    expect(await outcome(repository, ['thread', 'rm', repository.thread, '--remote'])).toBe('6 git');
    expect(await outcome(repository, ['thread', 'show', repository.thread])).toBe('0');
  });

  test('a file of the repository that it names is looked at too', async () => {
    const repository = await createScene();
    repository.write('tools/ssh', '#!/bin/sh\n');
    repository.git('config', 'core.sshCommand', 'sh tools/ssh');
    expect(await repository.uwf(['trust', '--all'])).toMatchObject({ code: 0 });
    expect(await outcome(repository, ['push', '--all'])).toBe('0');
    repository.write('tools/ssh', '#!/bin/sh\ntrue\n');
    expect(await outcome(repository, ['push', '--all'])).toBe('6 git');
  });

  test('the user says what the user has configured', async () => {
    const repository = await createScene();
    writeFileSync(join(repository.user['HOME'] ?? '', '.gitconfig'), '[core]\nsshCommand = ssh -v\n');
    const env = { GIT_CONFIG_GLOBAL: join(repository.user['HOME'] ?? '', '.gitconfig') };
    expect(await repository.uwf(['push', '--all'], { env })).toMatchObject({ code: 0 });
  });

  test('is listed, and the word is taken back', async () => {
    const repository = await createScene();
    repository.git('config', 'credential.helper', '!x');
    repository.git('config', 'filter.a.clean', 'cat');
    const list = async (): Promise<unknown> => {
      const rows = (await repository.json(['trust', '--list'])) as { name: string }[];
      return rows.find(({ name }) => name === 'git');
    };
    expect(await list()).toMatchObject({ state: 'new', says: ['credential.helper = !x', 'filter.a.clean = cat'] });
    expect(await repository.uwf(['push', '--all'], everything)).toMatchObject({ code: 0 });
    expect(await repository.uwf(['trust', 'git'])).toMatchObject({ code: 0 });
    expect(await list()).toMatchObject({ state: 'trusted' });
    expect(await repository.uwf(['trust', '--revoke', 'git'])).toMatchObject({ code: 0 });
    expect(await list()).toMatchObject({ state: 'new' });
  });
});

describe('a filter of the repository', () => {
  async function withFilter(): Promise<Awaited<ReturnType<typeof createScene>>> {
    const repository = await createScene();
    for (const key of ['clean', 'smudge'])
      repository.git('config', `filter.a.${key}`, `touch ${repository.canary}; cat`);
    repository.write('.git/info/attributes', '* filter=a\n');
    repository.write('one.txt', 'changed\n');
    repository.hasRun();
    return repository;
  }

  test('runs for no work tree before a word', async () => {
    const repository = await withFilter();
    const refs = repository.git('for-each-ref');
    const folder = join(createTemporaryFolder(), 'there');
    const restore = ['step', 'restore', '1', '--thread', repository.thread, '--worktree', folder];
    const fork = ['thread', 'fork', repository.thread, '--at', '1', '--worktree', folder];
    for (const argv of [restore, fork]) expect(await outcome(repository, argv)).toBe('6 git');
    expect([repository.hasRun(), repository.git('for-each-ref'), existsSync(folder)]).toEqual([false, refs, false]);
    for (const argv of [
      ['push', '--all'],
      ['thread', 'fork', repository.thread],
    ])
      expect(await outcome(repository, argv)).toBe('0');
    expect(await repository.uwf(['trust', 'git'])).toMatchObject({ code: 0 });
    expect(await outcome(repository, fork)).toBe('0');
    expect(repository.hasRun()).toBe(true);
  });

  test.each([
    ['the configuration', { snapshot: { mode: 'changed' } }, '', '6 agents.one, agents.two, snapshot, git'],
    ['a role', {}, 'snapshot: "on"', '6 agents.one, agents.two, git'],
    ['nothing', {}, '', '6 agents.one, agents.two'],
    ['a role that says no', { snapshot: { mode: 'on' } }, 'snapshot: "off"', '6 agents.one, agents.two, snapshot'],
  ])('is asked for with the agents where files are recorded: %s', async (_, config, ofRoles, expected) => {
    const repository = await withFilter();
    const workflow = '.uwf/workflows/pair.yaml';
    const said = ofRoles === '' ? '' : `${ofRoles}, `;
    repository.write('.uwf/config.yaml', pairConfig(config));
    repository.write(
      workflow,
      repository
        .git('show', `HEAD:${workflow}`)
        .replaceAll('description: ', `${said}description: `)
        .replace(`${said}description`, 'description'),
    );
    expect(await outcome(repository, ['run', 'pair', '-p', 'go'])).toBe(expected);
    const one = expected.replace(', agents.two', '');
    const thread = await repository.start('pair', 'go');
    expect(await outcome(repository, ['thread', 'step', thread])).toBe(one);
    expect(repository.hasRun()).toBe(false);
  });

  test('of a submodule runs for no snapshot, and what changed there is told all the same', async () => {
    const repository = await createScene();
    const { dir, git, canary } = repository;
    const inside = (...args: string[]): string => git('-C', 'sub', ...args);
    git('init', '-q', 'sub');
    repository.write('sub/file', 'x\n');
    inside('add', '-A');
    inside('commit', '-qm', 'sub');
    repository.write('.gitmodules', '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n');
    git('add', '-A');
    git('submodule', 'absorbgitdirs');
    git('commit', '-qm', 'a submodule');
    inside('config', 'filter.a.clean', `touch ${canary}; cat`);
    repository.write('.git/modules/sub/info/attributes', '* filter=a\n');
    writeFileSync(join(dir, 'sub/file'), 'y\n');
    repository.write('new', 'new\n');
    repository.hasRun();
    const run = await repository.uwf(['run', 'pair', '-p', 'go', '--json'], everything);
    expect(run.code, run.all).toBe(0);
    expect(run.all).toContain('is a submodule with changes');
    expect(repository.hasRun()).toBe(false);
    inside('status');
    expect(repository.hasRun()).toBe(true);
  });

  test('has one key at a terminal, together with the agents', async () => {
    const repository = await withFilter();
    const env = { ...isolatedGitEnvironment, ...repository.user, PAGER: 'cat' };
    const line = `'${process.execPath}' '${join(root, 'bin/uwf.js')}' run pair -p go`;
    const child = spawn('script', ['-qec', line, '/dev/null'], { cwd: repository.dir, env, timeout: 120_000 });
    let all = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (!all.includes('[y/N]') && (all + text).includes('[y/N]')) child.stdin.write('y');
      all += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code, all).toBe(0);
    expect(all).toContain('filter.a.clean = touch');
    expect(all.match(/\[y\/N\]/g)).toHaveLength(1);
    expect(repository.hasRun()).toBe(true);
  });
});
