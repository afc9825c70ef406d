import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCliRepository, type CliRepository } from '../../helpers/cli.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';

const files = {
  '.uwf/config.yaml': `agents:
  work: { package: "builtin:command", config: { argv: [sh, -c, "printf '%s\\\\n' --- 'ok: true' --- done"] } }
defaultAgent: work
`,
  '.uwf/workflows/one.yaml': `name: one
description: one turn
roles:
  first: { description: f, systemPrompt: f, schema: { type: object } }
moderator:
  - { from: __start__, to: first }
  - { from: first, to: __end__ }
`,
  'src/a.txt': 'a\n',
};

type Put = { hash: string; oid: string };
type Listed = Put & { type: string; title: string; step: string | null; referrers: { hash: string; in: string }[] };

async function createThread(): Promise<{ repository: CliRepository; thread: string }> {
  const repository = createCliRepository(files);
  repository.git('add', '-A');
  repository.git('commit', '-qm', 'code');
  const thread = await repository.start('one', 'go');
  return { repository, thread };
}

describe('what is pinned under a thread', () => {
  test('outlives every branch, before a step takes it in and after, and travels with the thread', async () => {
    const { repository, thread } = await createThread();
    const { dir, git, json, uwf } = repository;
    git('checkout', '-qb', 'side');
    repository.write('src/b.txt', 'b\n');
    git('add', '-A');
    git('commit', '-qm', 'the fix');
    const commit = git('rev-parse', 'HEAD');
    const bytes = Buffer.from([0, 1, 2, 255]);
    writeFileSync(join(dir, 'picture.png'), bytes);
    const pins = [
      (await json(['cas', 'put', '--pin', 'side', '-t', thread])) as Put,
      (await json(['cas', 'put', '--pin', 'HEAD:src', '-t', thread, '--title', 'the sources'])) as Put,
      (await json(['cas', 'put', '--pin', 'picture.png', '-t', thread])) as Put,
    ];
    expect(pins.map(({ oid }) => oid)).toEqual([
      commit,
      git('rev-parse', 'HEAD:src'),
      git('hash-object', 'picture.png'),
    ]);
    git('checkout', '-q', 'main');
    git('branch', '-qD', 'side');
    git('reflog', 'expire', '--expire=now', '--all');
    git('gc', '--prune=now', '--quiet');
    for (const { oid } of pins) expect(git('cat-file', '-t', oid)).toMatch(/commit|tree|blob/);

    expect((await uwf(['thread', 'run', thread])).code).toBe(0);
    git('gc', '--prune=now', '--quiet');
    const [ref = ''] = git('for-each-ref', '--format=%(refname)', 'refs/history').split('\n');
    const step = git('rev-parse', `${ref}^`);
    expect(git('rev-list', '--parents', '-n1', step).split(' ')).toContain(commit);
    expect(git('ls-tree', '--name-only', `${step}:pinned`).split('\n').toSorted()).toEqual(
      pins
        .slice(1)
        .map(({ oid }) => oid)
        .toSorted(),
    );
    expectCleanFsck(dir);
    expect(await uwf(['thread', 'verify', thread])).toMatchObject({ code: 0 });
    const elsewhere = createTemporaryRepository();
    elsewhere.git('fetch', '-q', dir, `${ref}:${ref}`);
    for (const { oid } of pins) expect(elsewhere.git('cat-file', '-t', oid)).toMatch(/commit|tree|blob/);
    expect(elsewhere.git('rev-parse', `${commit}:src/b.txt`)).toBe(git('rev-parse', `${commit}:src/b.txt`));

    const listed = (await json(['cas', 'list', '-t', thread])) as Listed[];
    const titles = Object.fromEntries(listed.map(({ hash, title }) => [hash, title]));
    expect(pins.map(({ hash }) => titles[hash])).toEqual(['the fix', 'the sources', 'picture.png']);
    // The reply's content names what came with it.
    for (const { step: taken, referrers } of listed) expect(referrers.map((referrer) => referrer.in)).toEqual([taken]);
  });

  test('is let go when it is taken back', async () => {
    const { repository, thread } = await createThread();
    const { git, json, uwf } = repository;
    writeFileSync(join(repository.dir, 'big.bin'), Buffer.from([9, 8, 7, 0]));
    const { hash, oid } = (await json(['cas', 'put', '--pin', 'big.bin', '-t', thread])) as Put;
    await json(['cas', 'put', '--pin', 'HEAD', '-t', thread]);
    await uwf(['cas', 'rm', hash, '-t', thread]);
    git('gc', '--prune=now', '--quiet');
    expect(() => git('cat-file', '-e', oid)).toThrow('cat-file');
    expect(git('rev-list', '--parents', '-n1', `refs/uwf/scratch/${thread}`)).toContain(git('rev-parse', 'HEAD'));
  });

  test('has to exist and to be what it is called', async () => {
    const { repository, thread } = await createThread();
    const { git, uwf } = repository;
    expect(await uwf(['cas', 'put', '--pin', 'no-such-thing', '-t', thread])).toMatchObject({ code: 2 });
    const put = (oid: string): Promise<{ code: number; stderr: string }> =>
      uwf(['cas', 'put', JSON.stringify({ kind: 'tree', oid, title: 't' }), '--type', 'artifact', '-t', thread]);
    expect((await put('1'.repeat(40))).stderr).toMatch(/is not in the repository/);
    expect((await put(git('rev-parse', 'HEAD'))).stderr).toMatch(/is a commit, not a tree/);
    expect(git('for-each-ref', 'refs/uwf/scratch')).toBe('');
  });
});

describe('a text', () => {
  test('that is none is refused, and a file of it can be pinned', async () => {
    const { repository } = await createThread();
    writeFileSync(join(repository.dir, 'x.bin'), Buffer.from([0xff, 0xfe]));
    const refused = await repository.uwf(['cas', 'put', '--file', 'x.bin']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--pin') });
    expect((await repository.uwf(['cas', 'put', '--pin', 'x.bin'])).code).toBe(0);
  });

  test('with a title is listed under it', async () => {
    const { repository, thread } = await createThread();
    const { json } = repository;
    const { hash, oid } = (await json(['cas', 'put', 'steps: 1, 2', '--title', 'the plan', '-t', thread])) as Put;
    const listed = (await json(['cas', 'list', '-t', thread])) as Listed[];
    expect(
      listed.map(({ type, title }) => [type, title]).toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    ).toEqual([
      ['artifact', 'the plan'],
      ['content', 'steps: 1, 2'],
    ]);
    expect((await repository.uwf(['cas', 'get', hash])).stdout).toBe('steps: 1, 2');
    expect(repository.git('cat-file', 'blob', oid)).toBe('steps: 1, 2');
  });
});
