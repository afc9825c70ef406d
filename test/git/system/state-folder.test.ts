import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import { readDerivedFile, writeDerivedFile } from '../../../src/git/system/files.ts';
import { createLoopRepository, type CliRepository } from '../../helpers/cli.ts';
import { heldToPermissions } from '../../helpers/held-to-permissions.ts';
import { createTemporaryFolder, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';

const thread = '01KAM4N5AVSHBNJ0A3YRPCEZ9A';

/** A repository in whose git folder, as somebody made it, a path is a link to a folder, or to a file. */
function plant(path: string, target: 'folder' | 'file'): CliRepository & { outside: string } {
  const repository = createLoopRepository();
  const outside = createTemporaryFolder();
  mkdirSync(join(outside, 'folder'));
  writeFileSync(join(outside, 'file'), 'mine\n');
  const planted = join(repository.dir, '.git/uwf', path);
  mkdirSync(dirname(planted), { recursive: true });
  rmSync(planted, { recursive: true, force: true });
  symlinkSync(join(outside, target), planted);
  return { ...repository, outside };
}

test.each(['.', 'journal', 'leases', 'steps', 'incoming', 'lookup'])(
  'no command writes to or reads from %s where it is a link',
  async (path) => {
    const { outside, uwf } = plant(path, 'folder');
    for (const command of [['run', 'loop', '-p', 'x'], ['thread', 'list'], ['gc'], ['doctor']]) {
      const { code, stderr } = await uwf(command);
      expect([code, stderr]).not.toEqual([0, expect.anything()]);
      expect(stderr).toContain('is a link, and uwf keeps its files in no folder that one leads to');
    }
    expect(readdirSync(join(outside, 'folder'))).toEqual([]);
  },
);

test('what is kept of threads is not written through links, nor read through them', async () => {
  const { dir, json, uwf } = createLoopRepository();
  const { thread: id } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  const outside = createTemporaryFolder();
  const state = join(dir, '.git/uwf');
  const names = [
    `journal/${id}.jsonl`,
    `sessions/${id}.json`,
    `facts/${id.slice(-2)}/${id}.json`,
    `facts/${id.slice(-2)}/${id}.json.tmp`,
  ];
  for (const name of names) {
    mkdirSync(dirname(join(state, name)), { recursive: true });
    rmSync(join(state, name), { force: true });
    const target = join(outside, name.replaceAll('/', '-'));
    writeFileSync(target, 'mine\n');
    symlinkSync(target, join(state, name));
  }
  expect(await uwf(['thread', 'run', id])).toMatchObject({ code: 0 });
  expect(await uwf(['thread', 'read', id, '--debug'])).toMatchObject({ code: expect.any(Number) });
  for (const name of readdirSync(outside)) expect(readFileSync(join(outside, name), 'utf8')).toBe('mine\n');
});

test.each(['link', 'pipe'])('a %s in the place of a derived file, or of what it is written to, goes', (kind) => {
  const folder = createTemporaryFolder();
  const other = join(folder, 'other');
  writeFileSync(other, 'mine');
  const path = join(folder, `${thread}.json`);
  for (const place of [path, `${path}.tmp`]) {
    if (kind === 'link') symlinkSync(other, place);
    else execFileSync('mkfifo', [place]);
  }
  expect(readDerivedFile(path, 'things 1')).toBeUndefined();
  writeDerivedFile(path, 'things 1', 'content');
  expect(readDerivedFile(path, 'things 1')).toBe('content');
  expect(lstatSync(path).isFile()).toBe(true);
  expect(readFileSync(other, 'utf8')).toBe('mine');
});

test('pipes and devices in a git folder keep no command waiting', async () => {
  const { dir, git, json, uwf } = createLoopRepository();
  const { thread: id } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  await uwf(['thread', 'run', id]);
  git('commit', '--allow-empty', '-q', '-m', 'x');
  const state = join(dir, '.git/uwf');
  const pipes = [
    'leases/x.json',
    `leases/${id}.json`,
    `pending/${id}.json`,
    `journal/${id}.jsonl`,
    'folding.json',
    'lookup',
  ];
  for (const path of pipes) {
    mkdirSync(dirname(join(state, path)), { recursive: true });
    rmSync(join(state, path), { force: true });
    execFileSync('mkfifo', [join(state, path)]);
  }
  mkdirSync(join(dir, '.git/objects/info'), { recursive: true });
  execFileSync('mkfifo', [join(dir, '.git/objects/info/alternates')]);
  mkdirSync(join(dir, '.git/refs/threads'), { recursive: true });
  execFileSync('mkfifo', [join(dir, '.git/refs/threads', thread)]);
  symlinkSync('/dev/zero', join(dir, '.git/refs/threads', thread.replace(/A$/, 'B')));
  for (const command of [
    ['thread', 'list', '--all'],
    ['thread', 'show', id],
    ['log', id],
    ['workflow', 'list'],
  ]) {
    expect(await uwf(command)).toMatchObject({ code: expect.any(Number) });
  }
});

test('threads are read where a file is in place of the state folder, and what writes names it', async () => {
  const { dir, json, uwf } = createLoopRepository();
  const { thread: id } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  rmSync(join(dir, '.git/uwf'), { recursive: true });
  writeFileSync(join(dir, '.git/uwf'), 'mine\n');
  for (const command of [
    ['thread', 'list'],
    ['thread', 'show', id],
    ['thread', 'verify', id],
    ['log', id],
    // git keeps the refs, and needs nothing of the folder.
    ['cas', 'put', 'a text'],
  ]) {
    expect(await uwf(command)).toMatchObject({ code: 0 });
  }
  for (const command of [
    ['thread', 'run', id],
    ['thread', 'cancel', id],
  ]) {
    const { code, stderr } = await uwf(command);
    expect(code).toBe(1);
    expect(stderr).toMatch(/there is no folder for \S+\/.git\/uwf\/\S+: a file is in place of one\nhint: /);
  }
  expect(readFileSync(join(dir, '.git/uwf'), 'utf8')).toBe('mine\n');
});

test('a thread is not called corrupt, and offered for removal, because leases may not be read', async () => {
  const { dir, json } = createLoopRepository();
  const { thread: id } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  chmodSync(join(dir, '.git/uwf'), 0);
  const words = [...heldToPermissions, process.execPath, join(packageRoot(), 'bin/uwf.js'), 'thread', 'rm', id];
  const { stderr } = spawnSync('env', words, { cwd: dir, env: isolatedGitEnvironment, encoding: 'utf8' });
  chmodSync(join(dir, '.git/uwf'), 0o700);
  expect(stderr).toContain('no permission for');
  expect(stderr).not.toContain('--force');
});
