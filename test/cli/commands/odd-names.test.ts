import { appendFileSync, existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cloneCliRepository, createCliRepository, type CliRepository, twoWorkflow } from '../../helpers/cli.ts';
import { createTemporaryFolder, expectCleanFsck, runGit } from '../../helpers/temporary-repository.ts';

const files = {
  '.uwf/config.yaml': `agents:
  work: { package: "builtin:command", config: { argv: [sh, -c, "echo $UWF_ROLE >> log.txt; printf '%s\\\\n' --- 'ok: true' --- done"] } }
defaultAgent: work
snapshot: { mode: on }
`,
  '.uwf/workflows/two.yaml': twoWorkflow,
};

/** Names as bytes, one character each: not UTF-8, with line ends, like options, patterns and uwf's own, and long. */
const names = [
  'caf\xe9',
  'd\xff\xfe/\x80/\xe9',
  'new\nline',
  'tab\t"q\\uote',
  '\x1b[31mred',
  '-dash',
  ':(glob)x',
  'index',
  'workflow/index',
  'n'.repeat(255),
];

function put(dir: string, name: string, text: string): Buffer {
  const path = Buffer.from(`${dir}/${name}`, 'latin1');
  mkdirSync(path.subarray(0, path.lastIndexOf('/')), { recursive: true });
  writeFileSync(path, text);
  return path;
}

async function runTwo(): Promise<{ repository: CliRepository; thread: string }> {
  const repository = createCliRepository(files);
  for (const name of names) put(repository.dir, name, 'tracked\n');
  repository.git('add', '-A');
  repository.git('commit', '-qm', 'code');
  for (const name of names) put(repository.dir, `u/${name}`, 'untracked\n');
  expect(await repository.uwf(['run', 'two', '-p', 'go'])).toMatchObject({ code: 0 });
  const [listed] = (await repository.json(['thread', 'list', '--all'])) as { thread: string }[];
  return { repository, thread: listed?.thread ?? '' };
}

describe('names of any bytes in a recorded work tree', () => {
  test('come through every command, here and in a clone', async () => {
    const { repository, thread } = await runTwo();
    const remote = createTemporaryFolder();
    runGit(remote, ['init', '-q', '--bare']);
    const fine = async (where: CliRepository, ...argv: string[]): Promise<string> => {
      const { code, all } = await where.uwf(argv);
      expect(`${argv.join(' ')}: ${code} ${code === 0 ? '' : all}`).toBe(`${argv.join(' ')}: 0 `);
      return all;
    };
    await fine(repository, 'thread', 'show', thread);
    await fine(repository, 'thread', 'verify', thread);
    await fine(repository, 'push', '--with-commits', remote, thread);
    const clone = cloneCliRepository(remote);
    await fine(clone, 'fetch', 'origin');
    await fine(clone, 'thread', 'verify', thread);
    for (const where of [repository, clone]) {
      for (const command of ['fsck', 'reindex', 'gc']) await fine(where, command);
      expectCleanFsck(where.dir);
    }
    const folder = join(createTemporaryFolder(), 'restored');
    await fine(clone, 'step', 'restore', '2', '-t', thread, '--worktree', folder);
    for (const name of names.flatMap((one) => [one, `u/${one}`])) {
      expect(existsSync(Buffer.from(`${folder}/${name}`, 'latin1'))).toBe(true);
    }
    const exported = join(createTemporaryFolder(), 'thread.jsonl');
    writeFileSync(exported, await fine(repository, 'thread', 'export', thread, '--with-nodes'));
    await fine(repository, 'thread', 'rm', thread);
    await fine(repository, 'thread', 'import', exported);
    await fine(repository, 'thread', 'verify', thread);
  });

  test('are printed as git prints them', async () => {
    const { repository, thread } = await runTwo();
    const { thread: fork } = (await repository.json(['thread', 'fork', thread, '--at', '1'])) as { thread: string };
    for (const name of ['caf\xe9', 'caf\xc3\xa9', 'new\nline']) appendFileSync(put(repository.dir, name, ''), 'more\n');
    await repository.uwf(['thread', 'run', fork]);
    const { stdout } = await repository.uwf(['thread', 'diff', thread, fork]);
    expect(stdout).toContain(String.raw`"caf\351"  +`);
    expect(stdout).toContain(String.raw`"caf\303\251"  +`);
    expect(stdout).toContain(String.raw`"new\nline"  +`);
    repository.git('config', 'core.quotePath', 'false');
    expect((await repository.uwf(['thread', 'diff', thread, fork])).stdout).toContain('  café  +');
    const { files: changed } = (await repository.json(['thread', 'diff', thread, fork])) as {
      files: { path: string }[];
    };
    const paths = changed.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining([String.raw`"caf\351"`, 'café', 'new\nline']));
  });

  test('and modes that git no longer writes are taken from a colleague who has them already', async () => {
    const repository = createCliRepository(files);
    const blob = repository.git('hash-object', '-w', '.uwf/config.yaml');
    const tree = (...lines: [head: string, id: string][]): string => {
      const parts = lines.flatMap(([head, id]) => [Buffer.from(`${head}\0`), Buffer.from(id, 'hex')]);
      return runGit(
        repository.dir,
        ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'],
        Buffer.concat(parts),
      );
    };
    const old = tree(['040000 padded', tree(['100644 file', blob])], ['100664 writable', blob]);
    const commit = repository.git('commit-tree', '-m', 'old', tree(['40000 old', old]));
    repository.git('reset', '-q', '--hard', commit);
    // Files older than the index are not looked into, and the trees that it remembers stay.
    for (const name of ['old/padded/file', 'old/writable']) utimesSync(join(repository.dir, name), 1, 1);
    repository.git('update-index', '--refresh');
    const remote = createTemporaryFolder();
    runGit(remote, ['init', '-q', '--bare', '--initial-branch=main']);
    repository.git('push', '-q', remote, 'HEAD:main');
    const clone = cloneCliRepository(remote);
    expect(await repository.uwf(['run', 'two', '-p', 'go'])).toMatchObject({ code: 0 });
    const ref = repository.git('for-each-ref', '--format=%(refname)', 'refs/history');
    expect(repository.git('rev-parse', `${ref}~1^2:old`)).toBe(old);
    const [thread] = (await repository.json(['thread', 'list', '--all'])) as { thread: string }[];
    const pushed = await repository.uwf(['push', remote, thread?.thread ?? '']);
    expect(pushed).toMatchObject({ code: 0 });
    expect(await clone.uwf(['fetch', 'origin'])).toMatchObject({
      code: 0,
      all: expect.not.stringContaining('refused'),
    });
  });
});
