#!/usr/bin/env node
// Nodes of a large repository looked up by hash in a fresh process, and the lookup worked out again from the refs.
//
//   node bench/lookup.js [--threads N] [--steps N]        six nodes a step; 84 threads of 2,000 steps are a million
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median } from './interleave.js';
import { loadSource } from './load-source.js';
import { longThreadSources, writeLongThread } from './long-thread.js';
import { quietEnvironment } from './quiet-environment.js';

const headerBytes = 16;
const recordBytes = 28;

/**
 * @returns how many nodes there are, what a rebuild takes (s), opening with the first search, and a search after that (ms,
 *   median and the slowest of a hundred), and the most memory that this process ever took (MB), rebuild included
 */
export async function benchLookup({ threads = 8, steps = 2_000, searches = 2_000 } = {}) {
  const source = await loadSource(...longThreadSources, 'src/cas/lookup/repository-nodes.ts');
  const folder = mkdtempSync(join(tmpdir(), 'uwf-bench-'));
  try {
    execFileSync('git', ['init', '--quiet', '--bare'], { cwd: folder, env: quietEnvironment() });
    const writer = await source.openRepository(folder);
    for (let at = 0; at < threads; at += 1) await writeLongThread(source, writer, steps, at * steps);
    await writer.close();
    execFileSync('git', ['repack', '-a', '-d', '-q', '--window=0'], { cwd: folder, env: quietEnvironment() });

    const rebuildStartedMs = performance.now();
    const { nodes } = await source.reindex(await source.openRepository(folder));
    const rebuildSeconds = (performance.now() - rebuildStartedMs) / 1000;

    const hashes = someHashes(source, join(folder, 'uwf/lookup'), searches);
    const openedMs = performance.now();
    const found = source.repositoryNodes(await source.openRepository(folder));
    await found.find(hashes[0]);
    const firstMs = performance.now() - openedMs;
    const times = [];
    for (const hash of hashes) {
      const startedMs = performance.now();
      if ((await found.find(hash)) === undefined) throw new Error(`${hash} is missing`);
      times.push(performance.now() - startedMs);
    }
    const slowestOfHundredMs = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)];
    const peakMb = process.resourceUsage().maxRSS / 1024;
    return { nodes, rebuildSeconds, firstMs, searchMs: median(times), slowestOfHundredMs, peakMb };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Hashes from all over the one segment that a rebuild leaves. */
function someHashes(source, folder, count) {
  const [name] = readdirSync(folder).filter((entry) => entry.endsWith('.segment'));
  const segment = readFileSync(join(folder, name));
  const nodes = segment.readUInt32BE(8);
  return Array.from({ length: count }, (_, at) => {
    const place = Math.floor(((at * 7919) % count) * (nodes / count));
    return source.base32(segment.readBigUInt64BE(headerBytes + place * recordBytes));
  });
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { threads: { type: 'string' }, steps: { type: 'string' } } });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  console.log(JSON.stringify(await benchLookup(numbers), null, 2));
}
