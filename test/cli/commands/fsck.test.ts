import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLoopRepository, type CliRepository } from '../../helpers/cli.ts';
import { runGit } from '../../helpers/temporary-repository.ts';

type Damaged = {
  ref: string;
  thread: string | null;
  findings: { commit: string; path: string | null; what: string }[];
};
type Checked = { refs: number; damaged: Damaged[] };

/** A repository with some threads that ran to their end, every object a file of its own. */
async function createThreads(count: number): Promise<{ repository: CliRepository; threads: string[] }> {
  const repository = createLoopRepository();
  // git, which packs in the background on a busy machine, would give back what a test damages.
  const config = join(repository.dir, '.uwf/config.yaml');
  writeFileSync(config, JSON.stringify({ ...JSON.parse(readFileSync(config, 'utf8')), foldPacks: false }));
  await repository.uwf(['workflow', 'add', '.uwf/workflows/loop.yaml']);
  await repository.uwf(['cas', 'put', 'a note']);
  const threads: string[] = [];
  for (let at = 0; at < count; at++) {
    const lines = await repository.lines(['run', 'loop', '-p', `Poem ${at}`]);
    threads.push(String(lines.at(-1)?.['thread']));
  }
  unpack(repository);
  return { repository, threads };
}

function unpack({ dir }: CliRepository): void {
  const packs = join(dir, '.git/objects/pack');
  const names = readdirSync(packs).filter((file) => file.endsWith('.pack'));
  const contents = names.map((name) => readFileSync(join(packs, name)));
  // A pack is only unpacked where its objects are not there yet.
  for (const name of readdirSync(packs)) rmSync(join(packs, name), { force: true });
  for (const content of contents) runGit(dir, ['unpack-objects', '-q'], content);
}

function objectFile({ dir }: CliRepository, id: string): string {
  const path = join(dir, '.git/objects', id.slice(0, 2), id.slice(2));
  if (!existsSync(path)) throw new Error(`${id} is no file`);
  return path;
}

/** Puts another commit with a changed tree or message in the place of the head of a thread. */
function replaceHead(
  { git }: CliRepository,
  ref: string,
  change: { tree?: string; message?: string; parents?: string[] },
): void {
  const tree = change.tree ?? git('rev-parse', `${ref}^{tree}`);
  const parents = change.parents ?? [git('rev-parse', `${ref}^`)];
  const message = change.message ?? git('log', '-1', '--format=%B', ref);
  const commit = git('commit-tree', tree, ...parents.flatMap((id) => ['-p', id]), '-m', message);
  git('update-ref', ref, commit);
}

describe('uwf fsck', () => {
  test('finds nothing wrong in a sound repository', async () => {
    const { repository } = await createThreads(2);
    expect(await repository.uwf(['fsck'])).toMatchObject({ code: 0, stdout: 'nothing is wrong: 4 refs verified\n' });
  });

  test('finds and names every planted damage, and lists what is damaged as corrupt', async () => {
    const { repository, threads } = await createThreads(7);
    const { git, uwf, json } = repository;
    const refs = threads.map((thread) =>
      git('for-each-ref', '--format=%(refname)')
        .split('\n')
        .find((ref) => ref.endsWith(thread))!,
    );
    const [truncated = '', badIndex = '', orphan = '', forged = '', missing = '', early = ''] = refs;
    // Listed while they were sound: what this machine remembers must not hide the damage.
    await uwf(['thread', 'list', '-a']);

    const prompt = git('rev-parse', `${truncated}~5:prompt.md`);
    truncateSync(objectFile(repository, prompt), 20);

    const index = git('show', `${badIndex}:index`).replace(/^./, (first) => (first === '0' ? '1' : '0'));
    const blob = runGit(repository.dir, ['hash-object', '-w', '--stdin'], `${index}\n`);
    const entries = git('ls-tree', badIndex).replace(/\w{40}\tindex$/m, `${blob}\tindex`);
    const tree = runGit(repository.dir, ['mktree'], `${entries}\n`);
    replaceHead(repository, badIndex, { tree });

    replaceHead(repository, orphan, { parents: [] });
    replaceHead(repository, forged, {
      message: git('log', '-1', '--format=%B', forged).replace('Uwf-Status: completed', 'Uwf-Status: cancelled'),
    });
    rmSync(objectFile(repository, git('rev-parse', `${missing}~2`)));
    git('update-ref', early.replace(/\d{4}-\d{2}-\d{2}/, '1999-01-01'), early);
    git('update-ref', '-d', early);
    git('update-ref', 'refs/threads/my-branch', git('rev-parse', refs[6]!));

    const { code, stdout } = await uwf(['fsck', '--json']);
    const { damaged } = JSON.parse(stdout) as Checked;
    expect(code).toBe(1);
    const found = Object.fromEntries(
      damaged.map(({ ref, findings }) => [ref.split('/').at(-1), findings.map(({ what }) => what).join('\n')]),
    );
    expect(found).toEqual({
      [threads[0]!]: expect.stringContaining(prompt),
      [threads[1]!]: expect.stringMatching(/index|hash/),
      [threads[2]!]: expect.stringContaining('it is no start and has no parent'),
      [threads[3]!]: expect.stringContaining(
        "its message says 'Uwf-Status: cancelled' where its nodes say 'Uwf-Status: completed'",
      ),
      [threads[4]!]: expect.stringContaining('is not in the repository'),
      [threads[5]!]: expect.stringContaining('it ended on another day'),
      'my-branch': "refs/threads/my-branch is none of uwf's refs",
    });

    const list = (await json(['thread', 'list', '-a'])) as { thread: string; status: string }[];
    const corrupt = list.filter(({ status }) => status === 'corrupt').map(({ thread }) => thread);
    expect(corrupt.toSorted()).toEqual(threads.slice(0, 6).toSorted());
    expect(list.find(({ thread }) => thread === threads[6])).toMatchObject({ status: 'ended' });
    expect((await uwf(['thread', 'verify', threads[6]!])).code).toBe(0);
    const verified = await uwf(['thread', 'verify', threads[3]!]);
    expect(verified).toMatchObject({ code: 1, stdout: expect.stringContaining(`thread ${threads[3]} is not sound`) });
  });

  test('what is mended is no longer listed as corrupt', async () => {
    const { repository, threads } = await createThreads(1);
    const { git, uwf, json } = repository;
    const ref = git('for-each-ref', '--format=%(refname)', 'refs/history');
    const head = git('rev-parse', ref);
    replaceHead(repository, ref, { message: 'x' });
    await uwf(['fsck']);
    expect(await json(['thread', 'show', threads[0]!])).toMatchObject({ status: 'corrupt' });
    git('update-ref', ref, head);
    expect((await uwf(['fsck'])).code).toBe(0);
    expect(await json(['thread', 'show', threads[0]!])).toMatchObject({ status: 'ended' });
  });
});
