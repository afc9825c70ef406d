#!/usr/bin/env node
// How long commands take from a cold start, beside what bare Node and git take, in interleaved runs; how much memory;
// and how many files a step leaves behind.
//
//   node bench/start-up.js [--rounds N] [--steps N] [--pack MB] [--json] [--check]
//
// --rounds N  how often each command runs (default 25); the table shows medians
// --steps N   how long the thread is (default 10000)
// --pack MB   the size of a pack of other objects beside it (default 0: none)
// --json      one JSON object on stdout
// --check     exit 1 when `uwf thread show` takes more than `limit` times what `node -e 0` takes
//
// Warm: this machine has run the command before. Cold: without V8's code cache and without what is known of the thread.
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeBenchRepository } from './bench-repository.js';
import { interleave, median } from './interleave.js';
import { loadSource } from './load-source.js';
import { longThreadSources, writeLongThread } from './long-thread.js';
import { quietEnvironment } from './quiet-environment.js';

const limit = 1.5;
const root = fileURLToPath(new URL('..', import.meta.url));
const uwf = path.join(root, 'bin/uwf.js');

/** Measures starts; see above. @returns a row for each command: medians and fastest in ms, ratio to `node -e 0`, memory in MB */
export async function measureStartUp({ rounds = 25, steps = 10_000, packMegabytes = 0 } = {}) {
  const { folder, env, id, ref, hash } = await makeLongRepository(steps, packMegabytes);
  try {
    const ours = {
      'uwf thread show <id>': ['thread', 'show', id],
      'uwf thread list': ['thread', 'list'],
      'uwf log -n 20 <id>': ['log', '-n', '20', id],
      'uwf cas get <hash> --thread <id>': ['cas', 'get', hash, '--thread', id],
      'uwf --version': ['--version'],
    };
    const argvOf = (words) => [process.execPath, uwf, ...words];
    const commands = {
      'node -e 0': [process.execPath, '-e', '0'],
      ...Object.fromEntries(Object.entries(ours).map(([name, words]) => [name, argvOf(words)])),
      'git log -1 <ref>': ['git', 'log', '-1', '--format=%s', ref],
      'git log -20 <ref>': ['git', 'log', '-20', '--format=%B', ref],
    };
    const times = interleave(commands, { rounds, cwd: folder, env });
    const peaks = Object.fromEntries(
      Object.entries(commands).map(([name, argv]) => [name, peakMegabytes(argv, folder, env)]),
    );
    const cold = Object.entries(ours).map(([name, words]) => {
      const all = Array.from({ length: 3 }, () => {
        forget(folder);
        const startedMs = performance.now();
        execFileSync(process.execPath, [uwf, ...words], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
        return performance.now() - startedMs;
      });
      return [name, median(all)];
    });
    const coldMs = Object.fromEntries(cold);
    const baseMs = median(times['node -e 0']);
    return Object.entries(times).map(([name, all]) => ({
      name,
      medianMs: median(all),
      fastestMs: Math.min(...all),
      ratio: median(all) / baseMs,
      coldMs: coldMs[name],
      peakMb: peaks[name],
    }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function makeLongRepository(steps, packMegabytes) {
  const source = await loadSource(...longThreadSources);
  const folder = mkdtempSync(path.join(tmpdir(), 'uwf-bench-'));
  const env = quietEnvironment();
  execFileSync('git', ['init', '--quiet'], { cwd: folder, env });
  const repository = await source.openRepository(folder);
  const { id, hash } = await writeLongThread(source, repository, steps);
  await repository.close();
  if (packMegabytes > 0) addRandomPack(folder, env, packMegabytes);
  return { folder, env, id, hash, ref: source.activeRef(id) };
}

/** Objects of 100 kB that do not compress, in one pack, on a branch. */
function addRandomPack(folder, env, megabytes) {
  const chunks = ['commit refs/heads/main\ncommitter B <b@example.org> 1795262400 +0000\ndata 0\n'];
  for (let number = 0; number < megabytes * 10; number += 1) {
    chunks.push(`M 100644 inline ${number}.bin\ndata 100000\n`, randomBytes(100_000), '\n');
  }
  const input = Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)));
  execFileSync('git', ['fast-import', '--quiet'], { cwd: folder, env, input, maxBuffer: 2 ** 31 });
}

/** Takes away what earlier commands have left on this machine to be faster. */
function forget(folder) {
  rmSync(path.join(root, 'dist/.code-cache'), { recursive: true, force: true });
  rmSync(path.join(folder, '.git/uwf'), { recursive: true, force: true });
}

function peakMegabytes([program, ...argv], cwd, env) {
  if (program !== process.execPath) return undefined;
  // What the system says at the end; `getrusage` would count what the parent had when it forked.
  const report = `
    process.on('exit', () => {
      const fs = require('node:fs');
      fs.writeSync(2, '\\n' + /VmHWM:\\s*([0-9]+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]);
    });`;
  const hook = path.join(cwd, '.git/peak.cjs');
  writeFileSync(hook, report);
  const { stderr } = spawnSync(program, ['--require', hook, ...argv], { cwd, env, encoding: 'utf8' });
  return Number(stderr.trim().split('\n').at(-1)) / 1024;
}

function print(rows, filesPerStep) {
  console.log(`Node ${process.version}, medians in ms`);
  console.log(
    `${''.padEnd(34)}${['median', 'fastest', 'x node', 'cold', 'MB'].map((head) => head.padStart(9)).join('')}`,
  );
  for (const row of rows) {
    const figures = [row.medianMs, row.fastestMs, row.ratio, row.coldMs, row.peakMb];
    const digits = [1, 1, 2, 0, 0];
    const cells = figures.map((figure, at) => (figure === undefined ? '' : figure.toFixed(digits[at])).padStart(9));
    console.log(`${row.name.padEnd(34)}${cells.join('')}`);
  }
  console.log(`new files per step: ${filesPerStep.join(', ')}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '25' },
      steps: { type: 'string', default: '10000' },
      pack: { type: 'string', default: '0' },
      json: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
    },
  });
  const rows = await measureStartUp({
    rounds: Number(values.rounds),
    steps: Number(values.steps),
    packMegabytes: Number(values.pack),
  });
  const small = makeBenchRepository();
  small.remove();
  const { filesPerStep } = small;
  const { ratio } = rows.find((row) => row.name.startsWith('uwf thread show'));
  if (values.json) console.log(JSON.stringify({ node: process.version, rows, ratio, limit, filesPerStep }));
  else print(rows, filesPerStep);
  if (values.check && ratio > limit) process.exitCode = 1;
}
