#!/usr/bin/env node
// How long a command takes from a cold start, beside what bare Node and git take, in interleaved runs; and how many
// files a step leaves behind.
//
//   node bench/start-up.js [--rounds N] [--json] [--check]
//
// --rounds N  how often each command runs (default 25); the table shows medians
// --json      one JSON object on stdout
// --check     exit 1 when `uwf thread show` takes more than `limit` times what `node -e 0` takes
import { parseArgs } from 'node:util';
import { makeBenchRepository } from './bench-repository.js';
import { interleave, median } from './interleave.js';

const limit = 2.0;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '25' },
    json: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
  },
});

const repository = makeBenchRepository();
try {
  const { folder, env, thread, uwf, filesPerStep } = repository;
  const commands = {
    'node -e 0': [process.execPath, '-e', '0'],
    'uwf thread show <id>': [process.execPath, uwf, 'thread', 'show', thread],
    'uwf thread list': [process.execPath, uwf, 'thread', 'list'],
    'uwf log <id>': [process.execPath, uwf, 'log', thread],
    'uwf --version': [process.execPath, uwf, '--version'],
    'git log -1 refs/history/…/<id>': ['git', 'log', '-1', '--format=%s', repository.ref],
  };
  const times = interleave(commands, { rounds: Number(values.rounds), cwd: folder, env });
  const base = median(times['node -e 0']);
  const rows = Object.entries(times).map(([name, all]) => ({
    name,
    medianMs: median(all),
    fastestMs: Math.min(...all),
    ratio: median(all) / base,
  }));
  const ratio = rows.find((row) => row.name.startsWith('uwf thread show')).ratio;
  print({ node: process.version, rounds: Number(values.rounds), rows, ratio, limit, filesPerStep });
  if (values.check && ratio > limit) process.exitCode = 1;
} finally {
  repository.remove();
}

function print(result) {
  if (values.json) {
    console.log(JSON.stringify(result));
    return;
  }
  console.log(`Node ${result.node}, ${result.rounds} interleaved rounds, ms`);
  console.log(`${''.padEnd(32)} ${'median'.padStart(8)} ${'fastest'.padStart(8)} ${'x node'.padStart(8)}`);
  for (const row of result.rows) {
    const figures = [row.medianMs.toFixed(1), row.fastestMs.toFixed(1), row.ratio.toFixed(2)];
    console.log(`${row.name.padEnd(32)} ${figures.map((figure) => figure.padStart(8)).join(' ')}`);
  }
  console.log(`uwf thread show / node -e 0 = ${result.ratio.toFixed(2)} (limit ${result.limit.toFixed(1)})`);
  console.log(`new files per step: ${result.filesPerStep.join(', ')}`);
}
