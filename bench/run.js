#!/usr/bin/env node
// `npm run bench`: measures uwf beside its alternatives, in one run, in interleaved rounds.
//
//   npm run bench [-- [options] [names]]
//
// names         only these benchmarks; --list prints all names
// --quick       smaller, and without the slowest benchmarks: within a minute
// --rounds N    how often each contestant runs (default: chosen by each benchmark)
// --folder DIR  where repositories are made (default: the folder for temporary files; on tmpfs, time is CPU time)
// --json FILE   also writes all figures to a file; with `-`, prints only them
// --check       exits with 1 if a limit is exceeded
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ensure } from '../scripts/ensure.js';
import { benches } from './lib/benches.js';
import { formatTable, isWithin } from './lib/format-table.js';
import { describeMachine } from './lib/machine.js';
import { measure } from './lib/measure.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    folder: { type: 'string' },
    json: { type: 'string' },
    check: { type: 'boolean', default: false },
  },
});
const say = (text) => (values.json === '-' ? process.stderr : process.stdout).write(`${text}\n`);

/** The benchmarks to run: the named ones, or all, or with --quick the quick ones. */
function chosen() {
  const unknown = positionals.filter((name) => !benches.some((bench) => bench.name === name));
  if (unknown.length > 0) throw new Error(`no such benchmark: ${unknown.join(', ')}; --list names them all`);
  if (positionals.length > 0) return benches.filter(({ name }) => positionals.includes(name));
  return benches.filter(({ isSlow }) => !values.quick || isSlow !== true);
}

function optionsOf() {
  if (values.rounds !== undefined && !(Number(values.rounds) >= 1)) throw new Error('--rounds takes a number from 1');
  return {
    quick: values.quick,
    ...(values.rounds !== undefined && { rounds: Number(values.rounds) }),
    ...(values.folder !== undefined && { folder: values.folder }),
  };
}

async function run(bench, options) {
  const results = [];
  say(`\n== ${bench.name}: ${bench.summary}`);
  for await (const comparison of bench.compare(options)) {
    const rows = await measure(comparison);
    const { what, base, rounds } = comparison;
    say(`\n${formatTable(comparison, rows)}`);
    results.push({ bench: bench.name, what, base, rounds, rows });
  }
  return results;
}

async function main() {
  if (values.list) {
    for (const { name, summary, isSlow } of benches) say(`${name.padEnd(12)} ${summary}${isSlow ? ' (slow)' : ''}`);
    return;
  }
  // The variable adds 35 to 45 ms to every start of Node, here and in children.
  delete process.env.NODE_EXTRA_CA_CERTS;
  if (!(await ensure())) throw new Error('uwf could not be built');
  const options = optionsOf();
  const machine = describeMachine();
  say(
    Object.entries(machine)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
  );
  const results = [];
  for (const bench of chosen()) results.push(...(await run(bench, options)));
  const report = `${JSON.stringify({ machine, quick: values.quick, results }, null, 2)}\n`;
  if (values.json === '-') process.stdout.write(report);
  else if (values.json !== undefined) writeFileSync(values.json, report);
  const over = results.filter(({ rows }) => rows.some((row) => !isWithin(row)));
  if (over.length > 0) say(`\nover a limit: ${over.map(({ bench, what }) => `${bench} (${what})`).join('; ')}`);
  if (values.check && over.length > 0) process.exitCode = 1;
}

// An exit removes the temporary files of the run.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
try {
  await main();
} catch (error) {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
}
