import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeStepFolder } from '../../../src/engine/turn/step-folder.ts';
import { formatIdentity, ownIdentity } from '../../../src/git/system/process-identity.ts';
import { createCliRepository, type CliRepository, twoWorkflow } from '../../helpers/cli.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';

const files = {
  '.uwf/config.yaml': `agents:
  work: { package: "builtin:command", config: { argv: [sh, work.sh] } }
defaultAgent: work
snapshot: { mode: on }
`,
  'work.sh': `echo $UWF_THREAD $UWF_ROLE >> log.txt; printf '%s\\n' --- 'ok: true' --- "done by $UWF_ROLE"`,
  '.uwf/workflows/two.yaml': twoWorkflow,
};

function createRepository(): CliRepository {
  const repository = createCliRepository(files);
  repository.git('add', '-A');
  repository.git('commit', '-qm', 'code');
  return repository;
}

/** All objects that git keeps after it has collected what nothing leads to. */
function objectsKept({ git }: CliRepository): Set<string> {
  git('gc', '--prune=now', '--quiet');
  return new Set(git('cat-file', '--batch-all-objects', '--batch-check=%(objectname)').split('\n'));
}

/** The names of all files below the folder of this machine that have a thread's id in them. */
function localFiles({ dir }: CliRepository, thread: string): string[] {
  return readdirSync(join(dir, '.git/uwf'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.includes(thread),
  );
}

describe('uwf thread rm', () => {
  test('leaves nothing of a thread that no other thread uses', async () => {
    const repository = createRepository();
    const { git, uwf } = repository;
    const before = objectsKept(repository);
    const thread = await repository.start('two', 'a task of its own');
    await uwf(['thread', 'step', thread]);
    await uwf(['cas', 'put', 'put and not taken in', '--thread', thread]);
    git('update-ref', `refs/uwf/remotes/origin/threads/${thread}`, `refs/threads/${thread}`);
    const fork = (await repository.json(['thread', 'fork', thread, '--at', '1'])) as { thread: string };
    await uwf(['thread', 'run', thread]);
    const withAll = objectsKept(repository);
    expect(withAll.size).toBeGreaterThan(before.size + 20);
    expect(localFiles(repository, thread)).not.toEqual([]);

    expect(await uwf(['thread', 'rm', thread])).toMatchObject({ code: 0 });
    // That it was removed is remembered.
    expect(localFiles(repository, thread)).toEqual([`removed/${thread}`]);
    const withFork = objectsKept(repository);
    expect(withFork.size).toBeLessThan(withAll.size);
    expect((await uwf(['thread', 'run', fork.thread])).code).toBe(0);
    expectCleanFsck(repository.dir);

    await uwf(['thread', 'rm', fork.thread]);
    expect(objectsKept(repository)).toEqual(before);
    expect(git('for-each-ref', 'refs/threads', 'refs/history', 'refs/uwf')).toBe('');
  });

  test('removes all that were over by a time, and only those', async () => {
    const repository = createRepository();
    const old = [await repository.start('two'), await repository.start('two')];
    for (const thread of old) await repository.uwf(['thread', 'run', thread]);
    const active = await repository.start('two');
    const later = (days: number): { now: () => number } => ({ now: () => Date.now() + days * 86_400_000 });
    const rm = ['thread', 'rm', '--ended', '--before', '90d'];
    expect(await repository.json(rm)).toEqual([]);
    const dry = (await repository.json([...rm, '--dry-run'], later(91))) as { thread: string }[];
    expect(dry.map(({ thread }) => thread).toSorted()).toEqual(old.toSorted());
    expect(await repository.json(rm, later(91))).toEqual(dry);
    const left = (await repository.json(['thread', 'list', '--all'])) as { thread: string }[];
    expect(left.map(({ thread }) => thread)).toEqual([active]);
    expect((await repository.uwf(['thread', 'rm', '--ended'])).code).toBe(2);
  });
});

describe('uwf gc', () => {
  test('removes what nobody needs any more, folds packs, and leaves threads and big packs as they are', async () => {
    const repository = createRepository();
    const { dir, git, uwf } = repository;
    writeFileSync(join(dir, 'picture.png'), randomBytes(9 * 1024 * 1024));
    git('add', '-A');
    git('commit', '-qm', 'something large');
    git('gc', '--quiet');
    const packs = (): string[] => readdirSync(join(dir, '.git/objects/pack')).filter((name) => name.endsWith('.pack'));
    const [big = ''] = packs();
    const threads = [];
    for (let i = 0; i < 6; i += 1) threads.push(await repository.start('two'));
    const [ended = '', active = '', gone = ''] = threads;
    await uwf(['cas', 'put', 'never taken in', '--thread', ended]);
    await uwf(['cas', 'put', 'waits', '--thread', active]);
    await uwf(['thread', 'step', gone]);
    git('update-ref', `refs/uwf/scratch/${gone}`, `refs/uwf/scratch/${ended}`);
    git('update-ref', '-d', `refs/threads/${gone}`);
    await uwf(['thread', 'cancel', ended]);
    const dead = { pid: 999_999_999, startTime: '1', bootId: '', pidNamespace: '', host: 'nohost' };
    mkdirSync(join(dir, '.git/uwf/leases'), { recursive: true });
    writeFileSync(
      join(dir, `.git/uwf/leases/${active}.json`),
      JSON.stringify({ token: 't', holder: dead, sinceMs: 0, deadlineMs: 0, processGroups: [] }),
    );
    const torn = `.git/uwf/incoming/${formatIdentity({ ...ownIdentity(), startTime: '1' })}@Ab1dE2`;
    repository.write(`${torn}/objects/pack/tmp_pack_Ab1dE2`, 'PACK');
    const refs = git('for-each-ref', 'refs/threads', 'refs/history');
    const before = git('rev-list', '--objects', '--all');

    const found = (await repository.json(['gc'])) as Record<string, unknown> & { packs: Record<string, number> };
    expect(found).toMatchObject({ leases: 1, scratch: 2, transfers: 1 });
    expect(existsSync(join(dir, torn))).toBe(false);
    expect(found['files']).toBeGreaterThan(0);
    expect(found.packs['after']).toBeLessThan(found.packs['before'] ?? 0);
    expect(localFiles(repository, gone)).toEqual([]);
    expect(existsSync(join(dir, `.git/uwf/leases/${active}.json`))).toBe(false);
    expect(git('for-each-ref', '--format=%(refname)', 'refs/uwf/scratch')).toBe(`refs/uwf/scratch/${active}`);
    expect(git('for-each-ref', 'refs/threads', 'refs/history')).toBe(refs);
    const kept = new Set(git('rev-list', '--objects', '--all').split('\n'));
    expect([...kept].every((line) => before.includes(line))).toBe(true);
    expect(packs()).toContain(big);
    expectCleanFsck(dir);
    expect((await uwf(['thread', 'run', active])).code).toBe(0);
    expect(await repository.json(['gc'])).toMatchObject({
      leases: 0,
      files: 0,
      scratch: 0,
      snapshots: 0,
      transfers: 0,
    });
  });
});

describe('of journals uwf gc', () => {
  test('keeps what tells of a turn that was cut off, and no others', async () => {
    const repository = createRepository();
    const [done, cut] = [await repository.start('two'), await repository.start('two')];
    for (const thread of [done, cut]) await repository.uwf(['thread', 'step', thread]);
    const journal = (thread: string): string => join(repository.dir, `.git/uwf/journal/${thread}.jsonl`);
    appendFileSync(journal(cut), `${JSON.stringify({ event: 'step.started', at: 1, thread: cut, role: 'second' })}\n`);
    const left = readFileSync(journal(cut), 'utf8');
    expect(existsSync(journal(done))).toBe(true);
    expect(await repository.json(['gc'])).toMatchObject({ journals: 1 });
    expect(existsSync(journal(done))).toBe(false);
    expect(readFileSync(journal(cut), 'utf8')).toBe(left);
    expect(await repository.json(['gc'])).toMatchObject({ journals: 0 });
  });
});

test('uwf gc says what it removes, with sizes, what a background run printed too', async () => {
  const repository = createRepository();
  const { dir, git, uwf, write } = repository;
  const [told, gone, over] = [
    await repository.start('two'),
    await repository.start('two'),
    await repository.start('two'),
  ];
  await uwf(['thread', 'step', told]);
  git('update-ref', '-d', `refs/threads/${gone}`);
  write(`.git/uwf/log/${gone}.log`, 'twelve bytes');
  write(`.git/uwf/log/${told}.log`, 'stays');
  await uwf(['cas', 'put', 'never taken in', '--thread', over]);
  const journal = `.git/uwf/journal/${told}.jsonl`;
  const { size } = statSync(join(dir, journal));
  expect(size).toBeGreaterThan(0);
  await uwf(['thread', 'cancel', over]);
  const { stdout } = await uwf(['gc']);
  const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
  expect(rows).toContainEqual(['files', '12', `uwf/log/${gone}.log`]);
  expect(rows).toContainEqual(['scratch', '0', `refs/uwf/scratch/${over}`]);
  const [, bytes = ''] = rows.find(([, , name]) => name === `uwf/journal/${told}.jsonl`) ?? [];
  expect(Number(bytes.replaceAll(',', ''))).toBeGreaterThanOrEqual(size);
  expect(rows).toContainEqual(['told journals', `1 (${bytes} bytes)`]);
  expect(existsSync(join(dir, `.git/uwf/log/${gone}.log`))).toBe(false);
  expect(existsSync(join(dir, `.git/uwf/log/${told}.log`))).toBe(true);
  expect(await repository.json(['gc'])).toMatchObject({ removed: [] });
  expect((await uwf(['gc'])).stdout).not.toContain('REMOVED');
});

describe('uwf thread list', () => {
  test('shows only threads that are over, of a role, or about something', async () => {
    const repository = createRepository();
    const active = await repository.start('two', 'Repair the clock.\n\nIt is in the Tower.');
    const ended = await repository.start('two', 'Paint the door');
    await repository.uwf(['thread', 'run', ended]);
    await repository.uwf(['thread', 'step', active]);
    const list = async (argv: readonly string[], days = 0): Promise<string[]> => {
      const now = (): number => Date.now() + days * 86_400_000;
      const threads = (await repository.json(['thread', 'list', ...argv], { now })) as { thread: string }[];
      return threads.map(({ thread }) => thread);
    };
    expect(await list(['--ended'])).toEqual([ended]);
    expect(await list(['--before', '90d'])).toEqual([]);
    expect(await list(['--ended', '--before', '90d'], 91)).toEqual([ended]);
    expect(await list(['--role', 'second'])).toEqual([active]);
    expect(await list(['--role', 'first'])).toEqual([]);
    expect(await list(['--all', '--text', 'tower'])).toEqual([active]);
    expect(await list(['--all', '--text', 'the'])).toEqual([ended, active]);
    expect(await list(['--all', '--text', 'window'])).toEqual([]);
  });
});

test('gc removes the folders of steps whose process has ended, and leaves those of steps at work', async () => {
  const repository = createRepository();
  const [killed, working] = [await repository.start('two'), await repository.start('two')];
  const opened = await repository.open();
  const folders = [killed, working].map((thread) => makeStepFolder(opened, thread, {}));
  const dead = formatIdentity({ ...ownIdentity(), pid: 2 ** 22 + 1 });
  writeFileSync(join(folders[0] ?? '', 'holder'), dead);
  const { removed } = (await repository.json(['gc'])) as { removed: { name: string; bytes: number }[] };
  const [folder] = removed.filter(({ name }) => name.startsWith(`uwf/steps/${killed}`));
  expect(folder?.bytes).toBeGreaterThan(0);
  expect(folders.map((path) => existsSync(path))).toEqual([false, true]);
});
