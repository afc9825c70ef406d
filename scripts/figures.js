#!/usr/bin/env node
// `npm run figures -- [room …] [--base <revision>] [--step] [--list]`: prints how much source there is, by room of src/.
//
//   lines               of TypeScript, with comments
//   imports a file      statements `import … from` and `export … from` with a relative path. Those of types count, and two for
//                       one module count twice; `import()` does not, lazy imports are that
//   imports twice       files that have two such statements for one module
//   lines an export     lines for each name that a file declares and exports; names that it passes on are those of another
//   functions of a step functions that run in one `uwf thread step` of a command agent, and the files that have them
//   circles of imports  by such statements, among rooms, among folders (without those below them) and among files
//
// Rooms that are named count alone. `--base` prints the figures of a revision before those of this folder, `--step` those of a step
// too, and `--list` what is in the circles and the step of this folder.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './ensure.js';
import { coverStep } from './figures/cover-step.js';
import { noFigures, readHouse } from './figures/read-house.js';

/**
 * @typedef {import('./figures/read-house.js').Figures} Figures
 * @typedef {import('./figures/read-house.js').House} House
 */

const whole = (/** @type {number} */ count) => count.toLocaleString('en');
const ratio = (/** @type {number} */ some, /** @type {number} */ of) => (of === 0 ? '-' : (some / of).toFixed(1));

/** @type {[title: string, print: (figures: Figures) => string][]} */
const columns = [
  ['lines', ({ lines }) => whole(lines)],
  ['files', ({ files }) => whole(files)],
  ['imports a file', ({ imports, files }) => ratio(imports, files)],
  ['imports twice', ({ twice }) => whole(twice)],
  ['lazy imports', ({ lazy }) => whole(lazy)],
  ['lines an export', ({ lines, exports }) => ratio(lines, exports)],
];

/** @type {typeof columns} */
const columnsOfStep = [
  ['functions of a step', ({ functions }) => whole(functions)],
  ['its files', ({ covered }) => whole(covered)],
];

/**
 * Calls a function with a temporary folder that has the files of a revision, and the packages of this one.
 *
 * @template T
 * @param {string} revision
 * @param {(folder: string) => Promise<T>} use
 */
async function atRevision(revision, use) {
  const folder = mkdtempSync(path.join(tmpdir(), 'uwf-figures-'));
  try {
    const archive = ['archive', '--format=tar', revision];
    const input = execFileSync('git', archive, { cwd: root, maxBuffer: 2 ** 30, stdio: 'pipe' });
    execFileSync('tar', ['-x', '-C', folder], { input });
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prints one table, each cell with the figure of each house. */
function printTable(/** @type {House[]} */ houses, /** @type {typeof columns} */ shown) {
  const side = (/** @type {(house: House) => string} */ print) => houses.map(print).join(' → ');
  const row = (/** @type {string} */ name, /** @type {(house: House) => Figures | undefined} */ of) => [
    name,
    ...shown.map(([, print]) => side((house) => print(of(house) ?? noFigures()))),
  ];
  const names = [...new Set(houses.flatMap(({ rooms }) => [...rooms.keys()]))].toSorted();
  const lines = [
    ['room', ...shown.map(([title]) => title)],
    ...names.map((name) => row(name, ({ rooms }) => rooms.get(name))),
    row('sum', ({ sum }) => sum),
  ];
  const widthOf = (/** @type {number} */ at) => Math.max(...lines.map((line) => line[at]?.length ?? 0));
  for (const line of lines) {
    console.log(line.map((cell, at) => (at === 0 ? cell.padEnd(widthOf(at)) : cell.padStart(widthOf(at)))).join('  '));
  }
  console.log(`\nlines of test: ${side(({ testLines }) => whole(testLines))}`);
  const circles = side(({ circles: { rooms, folders, files } }) =>
    [rooms, folders, files].map((of) => of.length).join(', '),
  );
  console.log(`circles of imports among rooms, folders, files: ${circles}`);
}

async function main() {
  const { positionals: chosen, values } = parseArgs({
    allowPositionals: true,
    options: { base: { type: 'string' }, step: { type: 'boolean' }, list: { type: 'boolean' } },
  });
  const measure = async (/** @type {string} */ folder) => {
    const step = values.step ? await coverStep(folder) : new Map();
    return { house: readHouse(folder, chosen, step), step };
  };
  const now = await measure(root);
  const unknown = chosen.filter((room) => !now.house.rooms.has(room));
  if (unknown.length > 0) throw new Error(`src/ has no room ${unknown.join(', ')}`);
  const base = values.base === undefined ? [] : [await atRevision(values.base, measure)];
  printTable(
    [...base, now].map(({ house }) => house),
    [...columns, ...(values.step ? columnsOfStep : [])],
  );
  if (!values.list) return;
  for (const circle of Object.values(now.house.circles).flat()) console.log(`circle: ${circle}`);
  for (const [file, functions] of now.step) console.log(`${file}: ${functions.filter(Boolean).join(' ')}`);
}

await main().catch((/** @type {Error} */ error) => {
  console.error(error.message);
  process.exitCode = 1;
});
