import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openDiskStores } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import { ref, writeCommits } from '../../../contracts/store-fixture.ts';
import { runTypeScript } from '../../../helpers/run-typescript.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
} from '../../../helpers/temporary-repository.ts';

const script = join(import.meta.dirname, '..', '..', '..', 'faults', 'append-steps.ts');
const run = promisify(execFile);

test('of 1,000 steps of eight writers, uwf and git mixed, none is lost while git repacks and packs refs', async () => {
  const repository = createTemporaryRepository();
  const gitDir = join(repository.dir, '.git');
  const stores = openDiskStores({ gitDir, commonDir: gitDir, workTree: repository.dir });
  const [start] = await writeCommits(stores.objects, 'start');
  const refs = [ref('threads/a'), ref('threads/b'), ref('threads/c')];
  await stores.refs.update(refs.map((name) => ({ name, expected: null, value: start! })));
  const git = async (...args: string[]): Promise<string> =>
    (await run('git', args, { cwd: repository.dir, env: isolatedGitEnvironment })).stdout.trim();

  const over = new AbortController();
  const problems: unknown[] = [];
  const untilOver = async (...args: string[]): Promise<number> => {
    let rounds = 0;
    for (; !over.signal.aborted; rounds++) {
      // A lock that is held makes git give up at once; the loop is there to get in the way, not to succeed.
      await git(...args).catch((error: unknown) => {
        if (!/\.lock/.test(String(error))) problems.push(error);
      });
    }
    return rounds;
  };
  const appendWithGit = async (writer: string, count: number): Promise<void> => {
    for (let number = 0; number < count;) {
      const name = refs[number % refs.length]!;
      const head = await git('rev-parse', name);
      // git's own repack removes emptied folders of loose objects under git's own feet; then it is tried again.
      const commit = await git('commit-tree', '-p', head, '-m', `${writer} ${number}`, `${head}^{tree}`).catch(
        () => undefined,
      );
      if (commit === undefined) continue;
      // Otherwise git reads packed refs before it locks, to tell ids from names, and may compare with those (see RefWriter).
      const isMoved = await git('-c', 'core.warnAmbiguousRefs=false', 'update-ref', name, commit, head).then(
        () => true,
        () => false,
      );
      if (isMoved) number += 1;
    }
  };

  const loops = [untilOver('repack', '-adq'), untilOver('pack-refs', '--all', '--prune')];
  const [outcomes] = await Promise.all([
    Promise.all(
      Array.from({ length: 6 }, (_, index) => runTypeScript(script, [gitDir, `uwf-${index}`, '150', ...refs])),
    ),
    appendWithGit('git-0', 50),
    appendWithGit('git-1', 50),
  ]).finally(() => {
    over.abort();
  });
  const rounds = await Promise.all(loops);

  for (const outcome of outcomes) expect(outcome).toEqual({ code: 0, signal: null, stdout: '', stderr: '' });
  expect(problems).toEqual([]);
  // Otherwise nothing got in the way of anything.
  expect(Math.min(...rounds)).toBeGreaterThan(3);
  const messages = repository.git('log', '--format=%s', ...refs).split('\n');
  expect(new Set(messages).size).toBe(1001);
  expect(messages).toHaveLength(1001);
  expectCleanFsck(repository.dir);
  await stores.close();
}, 300_000);
