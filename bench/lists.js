#!/usr/bin/env node
// The newest 20 of 100,000 threads, beside `git for-each-ref` of the names of all; with the refs packed, then loose. What
// Node itself takes to start is shown apart: it is in uwf's time.
//
//   node bench/lists.js [--threads N] [--rounds N]
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { interleave, median } from './interleave.js';
import { loadSource } from './load-source.js';
import { longThreadSources, writeLongThread } from './long-thread.js';
import { quietEnvironment } from './quiet-environment.js';

const uwf = resolve(import.meta.dirname, '../bin/uwf.js');
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** @returns for packed and for loose refs: medians in ms, and what uwf takes beyond Node's start as a ratio to git */
export async function benchLists({ threads = 100_000, rounds = 5 } = {}) {
  const source = await loadSource(...longThreadSources);
  const folder = mkdtempSync(join(tmpdir(), 'uwf-bench-'));
  const env = quietEnvironment();
  try {
    execFileSync('git', ['init', '--quiet'], { cwd: folder, env });
    const repository = await source.openRepository(folder);
    const { head } = await writeLongThread(source, repository, 1);
    await repository.close();
    const ids = Array.from({ length: threads }, (_, at) => idOf(at));
    const lines = ids.map((id) => `${head} refs/threads/${id}\n`);
    writeFileSync(join(folder, '.git/packed-refs'), `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`);
    const packed = compare(folder, env, rounds);
    rmSync(join(folder, '.git/packed-refs'));
    mkdirSync(join(folder, '.git/refs/threads'), { recursive: true });
    for (const id of ids) writeFileSync(join(folder, '.git/refs/threads', id), `${head}\n`);
    return { threads, packed, loose: compare(folder, env, rounds), limit: 1.5 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function compare(cwd, env, rounds) {
  const times = interleave(
    {
      'node -e 0': [process.execPath, '-e', '0'],
      git: ['git', 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/threads/'],
      uwf: [process.execPath, uwf, 'thread', 'list', '-n', '20'],
    },
    { rounds, cwd, env },
  );
  const medians = Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]));
  return { ...medians, ratio: (medians.uwf - medians['node -e 0']) / medians.git };
}

/** The id of a thread that started so many ms after the first one. */
function idOf(at) {
  let text = '';
  for (let rest = 1_795_262_400_000 + at, place = 0; place < 10; place += 1, rest = Math.floor(rest / 32)) {
    text = alphabet.charAt(rest % 32) + text;
  }
  return `${text}${'0'.repeat(16)}`;
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { threads: { type: 'string' }, rounds: { type: 'string' } } });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  console.log(JSON.stringify(await benchLists(numbers), null, 2));
}
