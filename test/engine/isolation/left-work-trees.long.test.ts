import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chain, config, createScene, until, type Scene } from '../../faults/scene.ts';
import { cloneCliRepository, runCommand } from '../../helpers/cli.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../../helpers/temporary-repository.ts';

/** Leaves a file, and hangs after it while there is a file `hold` in its home folder. */
const agent = `#!/bin/sh
echo x > left
while [ -e "$HOME/hold" ]; do sleep 0.02; done
printf -- '---\\n$status: done\\n---\\nDone.\\n'
`;

function createIsolating(isolation: string): Scene {
  const scene = createScene({
    '.uwf/workflows/w.yaml': `${chain('w', ['coder'])}\nisolation: ${isolation}\n`,
    '.uwf/config.yaml': config(['./agent']),
    agent,
  });
  scene.git('add', '-A');
  scene.git('commit', '-qm', 'code');
  return scene;
}

test('doctor names the work tree of a cancelled thread whose files no snapshot has, also after it was removed', async () => {
  const [scene, home, state] = [createIsolating('worktree'), createTemporaryFolder(), createTemporaryFolder()];
  const env = { HOME: home, XDG_STATE_HOME: state };
  writeFileSync(join(home, 'hold'), '');
  const run = scene.start(['run', 'w', '-p', 'x', '--json'], { env });
  const left = (): string | undefined =>
    readdirSync(state, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith('/left'));
  await until('the agent has left a file', () => left() !== undefined);
  const thread = left()?.split('/').at(-2) ?? '';
  expect(await scene.uwf(['thread', 'cancel', thread], { env })).toMatchObject({ code: 0 });
  await run.outcome;
  const doctor = async (): Promise<string> => {
    const { stdout, stderr } = await scene.uwf(['doctor'], { env });
    return stdout + stderr;
  };
  expect(await doctor()).toMatch(new RegExp(`has files that no snapshot has.*, and thread ${thread} is over`));
  await scene.uwf(['thread', 'rm', thread], { env });
  await scene.uwf(['gc'], { env });
  expect(await doctor()).toMatch(new RegExp(`has files that no snapshot has.*, and thread ${thread} is over`));
  const [, branch = ''] = /then its branch with 'git branch -D (\S+)'/.exec(await doctor()) ?? [];
  scene.git('worktree', 'remove', '--force', join(state, left() ?? '', '..'));
  expect(await doctor()).not.toContain('no snapshot');
  const branches = (): string => scene.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/uwf');
  expect(branches().trim()).toBe(branch);
  scene.git('branch', '-D', branch);
  expect(branches()).toBe('');
});

test('doctor names what is left of threads that are over here or elsewhere, and gc removes it', async () => {
  const scene = createIsolating('worktree');
  scene.write('.uwf/workflows/w.yaml', `${chain('w', ['coder', 'tester'])}\nisolation: worktree\n`);
  scene.git('commit', '-qam', 'two turns');
  const { dir: remote } = createTemporaryRepository({ bare: true });
  scene.git('remote', 'add', 'origin', remote);
  scene.git('push', '-q', 'origin', 'main');
  const other = cloneCliRepository(remote);
  const uwf = async (argv: string[], cwd = scene.dir): Promise<string> => {
    const env = { HOME: cwd, XDG_STATE_HOME: join(cwd, '.git/state') };
    const { code, stdout, all } = await runCommand(argv, { cwd, env });
    expect(code, all).toBe(0);
    return stdout.trim();
  };
  const left = async (now = Date.now): Promise<[string, string, string][]> => {
    const env = { XDG_STATE_HOME: join(scene.dir, '.git/state') };
    const { stdout } = await runCommand(['doctor', '--json'], { cwd: scene.dir, env, now });
    const found = JSON.parse(stdout) as Record<'code' | 'message' | 'hint', string>[];
    return found.flatMap(({ code, message, hint }) => (/tree|branch/.test(code) ? [[code, message, hint]] : []));
  };
  const thread = await uwf(['thread', 'start', 'w', '-p', 'x']);
  await uwf(['thread', 'step', thread]);
  const folder = await uwf(['thread', 'open', thread]);
  await uwf(['push', '--all', '--with-commits']);
  await uwf(['fetch'], other.dir);
  await uwf(['thread', 'run', thread], other.dir);
  await uwf(['push', '--with-commits'], other.dir);
  expect(await left()).toEqual([]);
  const later = (): number => Date.now() + 2 * 86_400_000;
  expect(await left(later)).toEqual([
    ['work-tree-untouched', expect.stringContaining(folder), expect.stringContaining("'uwf fetch'")],
  ]);
  await uwf(['fetch']);
  expect(await left()).toEqual([
    ['work-tree-over', expect.stringContaining(folder), expect.stringContaining("'uwf gc'")],
  ]);
  await uwf(['gc']);
  expect([await left(), existsSync(folder)]).toEqual([[], false]);

  await uwf(['run', 'w', '-p', 'y']);
  const [, gone = '', branch = ''] =
    /worktree (\S+\/state\S+)\n[^]*refs\/heads\/(\S+)/.exec(scene.git('worktree', 'list', '--porcelain')) ?? [];
  scene.git('worktree', 'remove', '--force', gone);
  expect(await left()).toEqual([
    ['branch-left', expect.stringContaining(branch), expect.stringContaining(`git branch -D ${branch}`)],
  ]);
});

test('a folder for work trees below the main one is no change of its files', async () => {
  const scene = createIsolating('strict');
  const env = { XDG_STATE_HOME: join(scene.dir, '.state') };
  expect(await scene.uwf(['run', 'w', '-p', 'x'], { env })).toMatchObject({ code: 0 });
  expect(existsSync(join(scene.dir, '.state/uwf/worktrees'))).toBe(true);
  expect(scene.git('status', '--porcelain')).toBe('');
  expect(await scene.uwf(['run', 'w', '-p', 'x', '--isolate', '--with-changes'], { env })).toMatchObject({ code: 0 });
});

test('gc tells at a terminal how many work trees it has looked at', async () => {
  const scene = createIsolating('worktree');
  const env = { HOME: createTemporaryFolder(), XDG_STATE_HOME: createTemporaryFolder() };
  await scene.uwf(['run', 'w', '-p', 'x'], { env });
  const { code, all } = await runCommand(['gc'], { cwd: scene.dir, env, isTTY: true });
  expect(code).toBe(0);
  expect(all).toMatch(/work trees: 1 of 1.*work trees +1 /s);
});

test('a work tree whose folder a person has deleted is made again, and gc forgets that of a thread that is over', async () => {
  const scene = createIsolating('worktree');
  const env = { HOME: createTemporaryFolder(), XDG_STATE_HOME: createTemporaryFolder() };
  scene.write('.uwf/workflows/w.yaml', `${chain('w', ['coder', 'tester'])}\nisolation: worktree\n`);
  const thread = (await scene.uwf(['thread', 'start', 'w', '-p', 'x'], { env })).stdout.trim();
  await scene.uwf(['thread', 'step', thread], { env });
  const open = async (): Promise<string> => (await scene.uwf(['thread', 'open', thread], { env })).stdout.trim();
  const folder = await open();
  rmSync(folder, { recursive: true });
  expect(await open()).toBe(folder);
  expect(readdirSync(folder)).toContain('left');
  expect(scene.git('branch', '--list', 'uwf/*').split('\n')).toHaveLength(1);
  await scene.uwf(['thread', 'cancel', thread], { env });
  rmSync(folder, { recursive: true });
  expect((await scene.uwf(['doctor'], { env })).stdout).not.toContain('no snapshot');
  await scene.uwf(['gc'], { env });
  expect(scene.git('worktree', 'list').split('\n')).toHaveLength(1);
  expect(scene.git('branch', '--list', 'uwf/*')).toBe('');
});

test('the work trees of a repository that was moved come along, and a copy of it leaves them alone', async () => {
  const scene = createIsolating('worktree');
  const env = { HOME: createTemporaryFolder(), XDG_STATE_HOME: createTemporaryFolder() };
  scene.write('.uwf/workflows/w.yaml', `${chain('w', ['coder', 'tester'])}\nisolation: worktree\n`);
  const threads: string[] = [];
  for (const name of ['open', 'over', 'unsaved']) {
    const thread = (await scene.uwf(['thread', 'start', 'w', '-p', name], { env })).stdout.trim();
    threads.push(thread);
    await scene.uwf(['thread', 'step', thread], { env });
    const folder = (await scene.uwf(['thread', 'open', thread], { env })).stdout.trim();
    if (name !== 'over') writeFileSync(join(folder, name), 'x');
  }
  const [open = '', over = '', unsaved = ''] = threads;
  for (const thread of [over, unsaved]) await scene.uwf(['thread', 'cancel', thread], { env });
  const copy = join(createTemporaryFolder(), 'copy');
  cpSync(scene.dir, copy, { recursive: true });
  const before = scene.git('worktree', 'list');
  expect((await runCommand(['doctor'], { cwd: copy, env })).stdout).not.toContain('work tree');
  await runCommand(['gc'], { cwd: copy, env });
  expect(await runCommand(['thread', 'step', open], { cwd: copy, env })).toMatchObject({ code: 0 });
  expect(scene.git('worktree', 'list')).toBe(before);

  const cwd = join(createTemporaryFolder(), 'moved');
  renameSync(scene.dir, cwd);
  const uwf = (argv: string[]): ReturnType<typeof runCommand> => runCommand(argv, { cwd, env });
  const told = (await uwf(['doctor'])).stdout;
  for (const thread of threads) expect(told).toMatch(new RegExp(`/${thread} is the work tree of a thread`));
  expect(told).toContain(`'uwf thread open ${open}' moves it there`);
  expect(await uwf(['thread', 'step', open])).toMatchObject({ code: 0 });
  const folder = (await uwf(['thread', 'open', open])).stdout.trim();
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(['left', 'open']));
  const branches = execFileSync('git', ['branch', '--list', 'uwf/*'], { cwd, encoding: 'utf8' });
  expect(branches.trim().split('\n')).toHaveLength(3);
  await uwf(['gc']);
  const left = (await uwf(['doctor'])).stdout;
  expect(left).toContain(`/${unsaved} is the work tree of a thread`);
  expect(left).not.toMatch(new RegExp(`${open}|${over}`));
});

test('gc removes the branch of a work tree in which the agent made one of its own, unless a person has it checked out', async () => {
  const scene = createIsolating('worktree');
  const env = { HOME: createTemporaryFolder(), XDG_STATE_HOME: createTemporaryFolder() };
  const branches = (): string[] =>
    scene.git('for-each-ref', '--format=%(refname:short)', 'refs/heads').trim().split('\n');
  const [main = ''] = branches();
  scene.write(
    'agent',
    agent.replace('#!/bin/sh', '#!/bin/sh\ngit checkout -qb own; echo y > made; git add made; git commit -qm own'),
  );
  await scene.uwf(['run', 'w', '-p', 'x'], { env });
  const made = branches().find((name) => name.startsWith('uwf/')) ?? '';
  scene.git('checkout', '-q', made);
  await scene.uwf(['gc'], { env });
  expect(branches()).toEqual([main, 'own', made].toSorted());

  scene.git('checkout', '-q', main);
  scene.git('branch', '-D', 'own');
  await scene.uwf(['run', 'w', '-p', 'x'], { env });
  scene.git('branch', '-D', made);
  await scene.uwf(['gc'], { env });
  expect(branches()).toEqual([main, 'own'].toSorted());
});

test('a turn that has deleted its work tree waits, and is told as gone; taken again, it has a new one', async () => {
  const scene = createIsolating('worktree');
  const env = { HOME: createTemporaryFolder(), XDG_STATE_HOME: createTemporaryFolder() };
  scene.write('agent', agent.replace('#!/bin/sh', '#!/bin/sh\ngrep -q gently || rm -rf "$PWD"'));
  const { code, stderr } = await scene.uwf(['run', 'w', '-p', 'x'], { env });
  expect(code).toBe(4);
  expect(stderr).toMatch(/ is gone, and what the turn left there with it; .*once that is put right/s);
  const [, thread = ''] = /thread (\S+) is suspended/.exec(stderr) ?? [];
  expect(await scene.uwf(['thread', 'resume', thread, '-p', 'gently'], { env })).toMatchObject({ code: 0 });
});

test('what a turn left is recorded although it has removed its working folder', async () => {
  const scene = createIsolating('worktree');
  const env = { HOME: createTemporaryFolder(), XDG_STATE_HOME: createTemporaryFolder() };
  scene.write('site/page', 'x');
  scene.write('agent', agent.replace('#!/bin/sh', '#!/bin/sh\nrm -r "$PWD"; cd "${PWD%/*}"'));
  scene.git('add', '-A');
  scene.git('commit', '-qm', 'site');
  const inSite = chain('w', ['coder']).replace('"description"', '"cwd":"site","description"');
  scene.write('.uwf/workflows/w.yaml', `${inSite}\nisolation: worktree\n`);
  scene.write('.uwf/config.yaml', config(['../agent']));
  const { code, stderr } = await scene.uwf(['run', 'w', '-p', 'x'], { env });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const [, thread = ''] = /thread (\S+)/.exec(stderr) ?? [];
  const { stdout } = await scene.uwf(['thread', 'code', thread, '--json=files'], { env });
  expect(stdout).toMatch(/left.*site\/page/s);
});
