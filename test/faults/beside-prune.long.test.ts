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
        await promisify(execFile)('git', ['gc', '-q', '--prune=now'], { cwd: scene.dir, env: isolatedGitEnvironment });
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
    expectCleanFsck(scene.dir);
  },
  600_000,
);
