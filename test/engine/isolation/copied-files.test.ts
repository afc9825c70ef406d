import { chmodSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { chain } from '../../faults/scene.ts';
import { createCliRepository, type CliRepository, type CommandResult } from '../../helpers/cli.ts';
import { createTemporaryFolder, expectCleanFsck, runGit } from '../../helpers/temporary-repository.ts';

type Work = CliRepository & { run(...args: string[]): Promise<CommandResult & { thread: string }> };

/** A repository with an ignored file that work trees get a copy of, and an agent that runs a script. */
function createWork(script: string, more: object = {}): Work {
  const argv = ['sh', '-c', `${script}\nprintf -- '---\\n$status: done\\n---\\ndid it\\n'`];
  const repository = createCliRepository({
    '.uwf/workflows/w.yaml': chain('w', ['coder']),
    '.uwf/config.yaml': JSON.stringify({
      agents: { sh: { package: 'builtin:command', config: { argv } } },
      defaultAgent: 'sh',
      ...more,
    }),
    '.gitignore': 'keys/\n*.env\n',
    '.worktreeinclude': 'keys/\n*.env\n',
  });
  repository.git('add', '-A');
  repository.git('commit', '-qm', 'code');
  repository.write('keys/password', 'hunter2-of-the-team\n');
  const env = { XDG_STATE_HOME: createTemporaryFolder() };
  const uwf: CliRepository['uwf'] = (args, options) => repository.uwf(args, { ...options, env });
  const run: Work['run'] = async (...args) => {
    const result = await uwf(['run', 'w', '-p', 'go', '--isolate', '--json', ...args]);
    const { thread } = JSON.parse(result.stdout.split('\n')[0] ?? '') as { thread: string };
    return { ...result, thread };
  };
  return { ...repository, uwf, run };
}

/** The files of the thread's last record. */
async function recorded({ uwf }: Work, thread: string): Promise<string[]> {
  const { stdout } = await uwf(['thread', 'code', thread, '--stat', '--json']);
  return [...stdout.matchAll(/"path": ?"([^"]*)"/g)].map((match) => String(match[1])).toSorted();
}

/** Whether an object of the repository, reachable or not, has the copied file's content. */
function isStored({ git }: CliRepository): boolean {
  const listed = git('cat-file', '--batch-all-objects', '--batch-check=%(objectname)');
  return listed.includes(git('hash-object', 'keys/password'));
}

describe('a file that was copied into the work tree of a thread', () => {
  test('is not recorded after the agent changed what is ignored', async () => {
    const work = createWork('echo > .gitignore; echo x > new');
    const { code, thread } = await work.run();
    expect(code).toBe(0);
    expect(await recorded(work, thread)).toEqual(['.gitignore', 'new']);
    expect(isStored(work)).toBe(false);
    expectCleanFsck(work.dir);
  });

  test('makes the turn wait if the agent added it to git, until a person allows it', async () => {
    const work = createWork('echo > .gitignore; git add -A; git -c user.name=a -c user.email=a@b commit -qm all');
    const { code, stdout, thread } = await work.run();
    expect(code).toBe(4);
    expect(stdout).toContain('keys/password was copied as an ignored file');
    expect(await work.uwf(['thread', 'resume', thread])).toMatchObject({ code: 4 });
    expect(await work.uwf(['thread', 'resume', thread, '--allow-secrets'])).toMatchObject({ code: 0 });
    expect(await recorded(work, thread)).toEqual(['.gitignore', 'keys/password']);
  });
});

describe('files that cannot be copied into the work tree of a thread', () => {
  test('are told, and the others are copied', async () => {
    const work = createWork('cat keys/password > seen; ls keys >> seen');
    const name = Buffer.concat([Buffer.from(join(work.dir, 'keys/caf')), Buffer.from([0xe9])]);
    writeFileSync(name, 'latin-1');
    symlinkSync('/nowhere', join(work.dir, 'keys/link'));
    work.write('other.env', 'unreadable');
    chmodSync(join(work.dir, 'other.env'), 0);
    const { code, stdout, thread } = await work.run();
    expect(code).toBe(0);
    const told = stdout.split('\n').find((line) => line.includes('work-tree.incomplete')) ?? '{}';
    const { missing } = JSON.parse(told) as { missing: { files: { path: string; reason: string }[] } };
    expect(missing.files).toContainEqual({ path: '"keys/caf\\351"', reason: 'has a name that is not UTF-8' });
    // Root reads every file.
    if (process.getuid?.() !== 0) expect(missing.files.map(({ path }) => path)).toContain('other.env');
    const { stdout: diff } = await work.uwf(['thread', 'code', thread]);
    expect(diff).toContain('+hunter2-of-the-team\n+link\n+password\n');
  });

  test('are told if the commit of the work tree has a link where their folder would be', async () => {
    const work = createWork('ls > seen');
    const [elsewhere, there] = [createTemporaryFolder(), join(createTemporaryFolder(), 'there')];
    work.git('worktree', 'add', '-q', '--detach', there);
    symlinkSync(elsewhere, join(there, 'keys'));
    runGit(there, ['add', '--force', 'keys']);
    runGit(there, ['commit', '-qm', 'a link']);
    work.write('other.env', 'copied');
    const { code, stdout, thread } = await work.run('--from', runGit(there, ['rev-parse', 'HEAD']));
    expect(code).toBe(0);
    expect(stdout).toContain('is below a link or a file in the new work tree');
    expect(readdirSync(elsewhere)).toEqual([]);
    expect((await work.uwf(['thread', 'code', thread])).stdout).toContain('+other.env');
  });
});
