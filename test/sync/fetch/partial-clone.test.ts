import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import { cloneCliRepository, cliRepositoryOf, twoWorkflow, type CliRepository } from '../../helpers/cli.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  expectCleanFsck,
  runGit,
  type TemporaryRepositoryOptions,
} from '../../helpers/temporary-repository.ts';

const files = {
  '.uwf/config.yaml': `agents:
  work: { package: "builtin:command", config: { argv: [sh, work.sh] } }
defaultAgent: work
snapshot: { mode: on }
`,
  'work.sh': `echo $UWF_ROLE >> in/log.txt; printf '%s\\n' --- 'ok: true' --- done`,
  '.uwf/workflows/two.yaml': twoWorkflow,
  'in/a.txt': 'first',
};

/**
 * A thread whose first step stands on an old commit, and what a user cloned with `--filter`: of the commit's files, one that
 * later commits changed is not there.
 */
async function createScene(filter: string, options: TemporaryRepositoryOptions = {}) {
  const author = cliRepositoryOf(createTemporaryRepository(options), files);
  author.git('add', '-A');
  author.git('commit', '-qm', 'old');
  author.write('in/a.txt', 'second');
  author.git('commit', '-qam', 'new');
  author.git('checkout', '-q', '--detach', 'HEAD~1');
  const { thread } = (await author.json(['thread', 'start', 'two', '-p', 'go'])) as { thread: string };
  expect(await author.uwf(['thread', 'step', thread])).toMatchObject({ code: 0 });
  const lost = author.git('rev-parse', 'HEAD:in/a.txt');
  author.git('checkout', '-q', '-');
  const shared = createTemporaryFolder();
  author.git('clone', '-q', '--mirror', author.dir, shared);
  runGit(shared, ['config', 'uploadpack.allowFilter', 'true']);
  author.git('remote', 'add', 'origin', shared);
  return { author, thread, lost, clone: cloneCliRepository(`file://${shared}`, {}, [`--filter=${filter}`]) };
}

const absent = ({ git }: CliRepository): string[] =>
  git('rev-list', '--objects', '--all', '--missing=print').match(/(?<=^\?)\w+/gm) ?? [];

test.each(['sha1', 'sha256'] as const)(
  "in a user's partial clone a thread is fetched whole, verified, goes on and is pushed (%s)",
  async (objectFormat) => {
    const { author, thread, lost, clone } = await createScene('blob:none', { objectFormat });
    expect(absent(clone)).toEqual([lost]);
    expect(await clone.json(['fetch'])).toMatchObject({ threads: [{ thread, change: 'new' }], refused: [] });
    expect(await clone.json(['thread', 'verify', thread])).toMatchObject({ sound: true });
    expect(await clone.json(['thread', 'read', thread])).toHaveLength(2);
    expect(await clone.uwf(['thread', 'step', thread])).toMatchObject({ code: 0 });
    expect(await clone.json(['push', '--all'])).toMatchObject({ threads: [{ thread, change: 'ended' }] });
    expect(absent(clone)).toEqual([lost]);
    clone.git('gc', '--quiet', '--prune=now');
    expectCleanFsck(clone.dir);
    expect(await author.json(['fetch'])).toMatchObject({ threads: [{ thread, change: 'ended' }] });
    expect(await author.json(['thread', 'verify', thread])).toMatchObject({ sound: true });
  },
  60_000,
);

test.each(['sha1', 'sha256'] as const)(
  'what a partial clone left out is named where it is needed, and comes when the user has git fetch it (%s)',
  async (objectFormat) => {
    const { thread, lost, clone } = await createScene('blob:none', { objectFormat });
    await clone.json(['fetch']);
    const folder = join(createTemporaryFolder(), 'restored');
    const restore = ['step', 'restore', '1', '-t', thread, '--worktree', folder];
    const refused = await clone.uwf(restore);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`object ${lost} is not in`) });
    expect(refused.stderr).toContain("'git fetch --refetch --no-filter' brings");
    const { objects, close } = await clone.open();
    expect(await objects.has(parseObjectId(lost))).toBe(false);
    expect(await objects.read(parseObjectId(lost))).toBeUndefined();
    await close();
    expect(absent(clone)).toEqual([lost]);
    clone.git('fetch', '-q', '--refetch', '--no-filter');
    expect(await clone.uwf(restore)).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, 'in/a.txt'), 'utf8')).toBe('first');
  },
  60_000,
);

test("git's own fetch of a partial clone would not bring threads whole, so it is not set up to bring them", async () => {
  const { thread, clone } = await createScene('blob:none');
  const refused = await clone.uwf(['init', '--remote', 'origin']);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("'uwf fetch origin' brings") });
  // A user can do it all the same.
  clone.git('fetch', '-q', 'origin', 'refs/threads/*:refs/threads/*');
  expect(await clone.uwf(['thread', 'read', thread])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/object \w+ is not in the repository/),
  });
  clone.git('fetch', '-q', '--refetch', '--no-filter', 'origin', 'refs/threads/*:refs/threads/*');
  expect(await clone.json(['thread', 'verify', thread])).toMatchObject({ sound: true });
}, 60_000);

test('a clone without folders takes in threads with recorded files once it is whole', async () => {
  const { thread, lost, clone } = await createScene('tree:0');
  expect(await clone.uwf(['fetch'])).toMatchObject({ code: 1, stderr: expect.stringContaining(`object ${lost} is`) });
  clone.git('fetch', '-q', '--refetch', '--no-filter');
  expect(await clone.json(['fetch'])).toMatchObject({ threads: [{ thread, change: 'new' }] });
}, 60_000);
