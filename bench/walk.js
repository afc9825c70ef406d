#!/usr/bin/env node
// A walk over a long thread with all its nodes, beside `git cat-file --batch` fed with the ids of the same objects.
//
//   node bench/walk.js [--steps N] [--rounds N] [--json]
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median } from './interleave.js';
import { loadSource } from './load-source.js';
import { longThreadSources, writeLongThread } from './long-thread.js';
import { quietEnvironment } from './quiet-environment.js';

/**
 * @returns medians in ms of git and of walks in a fresh repository object each, how many nodes there are, and the ratio
 */
export async function benchWalk({ steps = 10_000, rounds = 5 } = {}) {
  const source = await loadSource(...longThreadSources, 'src/schema/walk.ts', 'src/cas/lookup/repository-nodes.ts');
  const folder = mkdtempSync(join(tmpdir(), 'uwf-bench-'));
  const env = quietEnvironment();
  const git = (...argv) => execFileSync('git', argv, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    git('init', '--quiet');
    const writer = await source.openRepository(folder);
    const { hash } = await writeLongThread(source, writer, steps);
    await writer.close();
    git('repack', '-a', '-d', '-q');
    await source.reindex(await source.openRepository(folder));

    const walk = async () => {
      const repository = await source.openRepository(folder);
      const oids = [];
      for await (const node of source.walk(repository, hash)) oids.push(node.oid);
      await repository.close();
      return oids;
    };
    const input = `${(await walk()).join('\n')}\n`;
    const nodes = input.split('\n').length - 1;
    const times = { git: [], uwf: [] };
    for (let round = 0; round < rounds; round += 1) {
      times.git.push(
        await timed(() => {
          const batch = spawnSync('git', ['cat-file', '--batch'], { cwd: folder, env, input, maxBuffer: 2 ** 31 });
          if (batch.status !== 0) throw new Error(String(batch.stderr));
        }),
      );
      times.uwf.push(await timed(walk));
    }
    const [gitMs, uwfMs] = [median(times.git), median(times.uwf)];
    return { steps, nodes, gitMs, uwfMs, ratio: uwfMs / gitMs, limit: 3 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timed(work) {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { steps: { type: 'string' }, rounds: { type: 'string' } } });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  console.log(JSON.stringify(await benchWalk(numbers), null, 2));
}
