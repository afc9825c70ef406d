#!/usr/bin/env node
// 10,000 nodes of a KiB put under a thread at once, beside `git fast-import` of the same blobs into one commit; both
// durable when they are done.
//
//   node bench/import.js [--nodes N] [--rounds N]
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median } from './interleave.js';
import { loadSource } from './load-source.js';
import { longThreadSources, prose, writeLongThread } from './long-thread.js';
import { quietEnvironment } from './quiet-environment.js';

/** @returns medians in ms of both, and the ratio */
export async function benchImport({ nodes = 10_000, rounds = 5 } = {}) {
  const source = await loadSource(...longThreadSources, 'src/thread/thread-cas.ts');
  const env = quietEnvironment();
  const times = { git: [], uwf: [] };
  for (let round = 0; round <= rounds; round += 1) {
    const texts = Array.from({ length: nodes }, (_, at) => prose(round * nodes + at, 1024));
    const folder = mkdtempSync(join(tmpdir(), 'uwf-bench-'));
    try {
      execFileSync('git', ['init', '--quiet'], { cwd: folder, env });
      const repository = await source.openRepository(folder);
      const { id } = await writeLongThread(source, repository, 1);
      const input = fastImportStream(texts);
      const gitStartedMs = performance.now();
      const git = spawnSync('git', ['fast-import', '--quiet'], { cwd: folder, env, input });
      const gitMs = performance.now() - gitStartedMs;
      if (git.status !== 0) throw new Error(String(git.stderr));
      const uwfStartedMs = performance.now();
      const hashes = await source
        .threadCas(repository, id)
        .putAll(texts.map((text) => ({ type: source.builtIn.content, payload: { text } })));
      const uwfMs = performance.now() - uwfStartedMs;
      if (new Set(hashes).size !== nodes) throw new Error('some nodes are missing');
      await repository.close();
      // The first round warms up.
      if (round > 0) {
        times.git.push(gitMs);
        times.uwf.push(uwfMs);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const [gitMs, uwfMs] = [median(times.git), median(times.uwf)];
  return { nodes, gitMs, uwfMs, ratio: uwfMs / gitMs, limit: 1 };
}

function fastImportStream(texts) {
  const blobs = texts.map((text, at) => `blob\nmark :${at + 1}\ndata ${Buffer.byteLength(text)}\n${text}\n`);
  const files = texts.map((_, at) => `M 100644 :${at + 1} artifacts/${at}.md\n`);
  const head = 'commit refs/import\ncommitter Bench <bench@example.org> 1795262400 +0000\ndata 0\n';
  return [...blobs, head, ...files, 'done\n'].join('');
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { nodes: { type: 'string' }, rounds: { type: 'string' } } });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  console.log(JSON.stringify(await benchImport(numbers), null, 2));
}
