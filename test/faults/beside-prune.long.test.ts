import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { expectCleanFsck, isolatedGitEnvironment } from '../helpers/temporary-repository.ts';
import { chain, config, createScene, diligent, unfinishedBelow } from './scene.ts';

const runs = 20;
const roles = ['one', 'two', 'three'];

test.each(['off', 'on'])(
  `${runs} runs beside a 'git gc --prune=now' without end all end well, with snapshots %s`,
  async (snapshot) => {
    const scene = createScene({
      '.uwf/workflows/chain.yaml': chain('chain', roles),
      '.uwf/config.yaml': config(['./agent'], { snapshot: { mode: snapshot } }),
      agent: diligent,
      '.gitignore': 'turns\n',
    });
    const over = new AbortController();
    const collecting = (async () => {
      let rounds = 0;
      for (; !over.signal.aborted; rounds += 1) {
        await collectGarbage(scene.dir).catch((error: unknown) => {
          // It pruned a commit just before its ref was written, and met that ref before uwf had stored the commit again.
          expect(String(error)).toContain('Could not read');
        });
      }
      return rounds;
    })();
    try {
      for (let run = 0; run < runs; run += 1) {
        const { code, stderr } = await scene.uwf(['run', 'chain', '-p', 'do it']);
        expect({ code, stderr }).toMatchObject({ code: 0 });
      }
    } finally {
      over.abort();
    }
    expect(await collecting).toBeGreaterThan(runs);
    expect(scene.lines('turns')).toHaveLength(runs * roles.length);
    expect(unfinishedBelow(scene.gitDir)).toEqual([]);
    await collectGarbage(scene.dir);
    expectCleanFsck(scene.dir);
  },
  600_000,
);

async function collectGarbage(dir: string): Promise<void> {
  await promisify(execFile)('git', ['gc', '-q', '--prune=now'], { cwd: dir, env: isolatedGitEnvironment });
}
