#!/usr/bin/env node
// `npm run mutate -- [room …] [--only <text>] [--concurrency <n>]`: mutation tests. Changes the source of a room in one place at
// a time and checks whether a unit test fails. Prints each room's score: the share of the mutants that a test noticed, without
// those that test/mutation/equivalent.json names. Lists the survivors in coverage/mutation/<room>.txt.
//
// It runs a few files at a time and keeps each file's result in coverage/mutation: an interrupted run continues where it was. A
// file runs again when it or its tests have changed, and then only the mutants that the change can concern. Each room has 45
// minutes. `--only` takes the files whose path contains the text.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { rooms } from '../test/mutation/rooms.js';
import { ensure, root } from './ensure.js';
import { installPackages } from './install-packages.js';

const MAX_ROOM_MS = 45 * 60_000;
/** A run of Stryker takes seconds before its first mutant, so it gets several small files. */
const MAX_RUN_LINES = 400;
const WANTED_PERCENT = 80;

const packages = path.join(root, 'test', 'mutation');
const results = path.join(root, 'coverage', 'mutation');
const stryker = path.join(packages, 'node_modules', '@stryker-mutator');

const read = (file) => readFileSync(path.join(root, file), 'utf8');
/** The files below some folders, as paths from the root. */
const filesIn = (folders, ending) =>
  folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(ending))
      .map((name) => `${folder}/${name.replaceAll(path.sep, '/')}`)
      .toSorted(),
  );

const testsOf = (room) => filesIn(room.tests, '.test.ts').filter((file) => !room.without?.includes(file));

/** The files of src and of a room's tests that import a file, by the file; read once. */
const importers = new Map();
function importersOf(room, file) {
  if (!importers.has(room)) {
    const found = new Map();
    for (const name of [...filesIn(['src'], '.ts'), ...testsOf(room)]) {
      for (const [, to] of read(name).matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
        const target = path.posix.join(path.posix.dirname(name), to ?? '');
        found.set(target, [...(found.get(target) ?? []), name]);
      }
    }
    importers.set(room, found);
  }
  return importers.get(room).get(file) ?? [];
}

/**
 * The tests of a room that are about a file: those that import it, or else those that import a file that imports it, and so on; of
 * these the ones in the folder that mirrors the file's, if there are any; and the one of the file's name. All tests that run the file would take ten times as long and
 * notice little more: what a file promises is tested beside it.
 */
function nearestTests(room, file) {
  const own = file.replace('src/', 'test/').replace(/\.ts$/, '.test.ts');
  const tests = new Set(testsOf(room));
  const folder = path.posix.dirname(own);
  const seen = new Set([file]);
  for (let level = [file]; level.length > 0;) {
    const next = new Set(level.flatMap((name) => importersOf(room, name)));
    const near = [...next].filter((name) => tests.has(name));
    const beside = near.filter((name) => path.posix.dirname(name) === folder);
    if (near.length > 0)
      return [...new Set([...(tests.has(own) ? [own] : []), ...(beside.length > 0 ? beside : near)])];
    level = [...next].filter((name) => !seen.has(name));
    for (const name of level) seen.add(name);
  }
  return tests.has(own) ? [own] : [];
}

/** What a file's result depends on. */
function fingerprintOf(room, file) {
  const hash = createHash('sha256');
  for (const name of [file, ...nearestTests(room, file).toSorted()]) hash.update(`${name}\0${read(name)}\0`);
  return hash.digest('hex');
}

const resultPath = (file) => path.join(results, `${file.replaceAll('/', '-')}.json`);

/** @returns the last result of a file, unless it or a test has changed since */
function findResult(room, file) {
  try {
    const { fingerprint, report } = JSON.parse(readFileSync(resultPath(file), 'utf8'));
    return fingerprint === fingerprintOf(room, file) ? report : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Takes the survivors among the mutants of constants out of what Stryker keeps: it runs a mutant again only if a test that covers
 * it is new, and records no such test for code that runs when its module is loaded.
 */
function forgetConstants(incrementalFile) {
  if (!existsSync(incrementalFile)) return;
  const kept = JSON.parse(readFileSync(incrementalFile, 'utf8'));
  for (const file of Object.values(kept.files)) {
    file.mutants = file.mutants.filter(({ status, coveredBy = [] }) => status !== 'Survived' || coveredBy.length > 0);
  }
  writeFileSync(incrementalFile, JSON.stringify(kept));
}

/** Runs Stryker over some files and stores the result of each. @returns whether it worked */
function mutateFiles(room, files, { concurrency, timeout }) {
  const base = path.join(results, room.name);
  const fingerprints = files.map((file) => fingerprintOf(room, file));
  const near = new Set(files.flatMap((file) => nearestTests(room, file)));
  // Stryker needs a test. Where none is near, no test of the room reaches the files: whichever runs notices none of their mutants.
  const tests = near.size > 0 ? [...near] : testsOf(room).slice(0, 1);
  const config = {
    testRunner: 'vitest',
    plugins: [path.join(stryker, 'vitest-runner', 'dist', 'src', 'index.js')],
    mutate: files,
    coverageAnalysis: 'perTest',
    // Stryker 9 cannot read the configuration of TypeScript 7, so it gets the name of a missing file.
    tsconfigFile: 'none.json',
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: `${base}.report.json` },
    incremental: true,
    incrementalFile: `${base}.incremental.json`,
    concurrency,
    timeoutMS: 5_000,
    tempDirName: path.join(results, `tmp-${room.name}`),
    ignorePatterns: ['bench', 'coverage', 'docs', 'test/agents', 'test/mutation/node_modules'],
    allowConsoleColors: false,
    // A mutant of a constant needs all tests of the run, which are few.
    warnings: { slow: false },
  };
  writeFileSync(`${base}.config.json`, JSON.stringify(config));
  forgetConstants(config.incrementalFile);
  const run = spawnSync(
    process.execPath,
    [path.join(stryker, 'core', 'bin', 'stryker.js'), 'run', `${base}.config.json`],
    {
      cwd: root,
      env: { ...process.env, UWF_MUTATED_TESTS: JSON.stringify(tests) },
      stdio: ['ignore', 2, 2],
      timeout,
    },
  );
  rmSync(config.tempDirName, { recursive: true, force: true });
  if (run.status !== 0) return false;
  const reports = JSON.parse(readFileSync(`${base}.report.json`, 'utf8')).files;
  for (const [at, file] of files.entries()) {
    // A file of types only has no mutants, and the report leaves it out.
    const report = reports[file] ?? { source: read(file), mutants: [] };
    writeFileSync(resultPath(file), JSON.stringify({ fingerprint: fingerprints[at], report }));
  }
  return true;
}

/** Cuts files into lists for one run each. */
function inRuns(files) {
  const runs = [];
  let lines = Infinity;
  for (const file of files) {
    const count = read(file).split('\n').length;
    if (lines + count > MAX_RUN_LINES) {
      runs.push([]);
      lines = 0;
    }
    runs.at(-1).push(file);
    lines += count;
  }
  return runs;
}

/** The survivors of a file's report, as text; `equivalent.json` uses the same text. */
function survivorsOf(file, { source, mutants }) {
  return mutants
    .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
    .map(({ location, replacement, status }) => ({
      file,
      number: location.start.line,
      line: oneLine(source.split('\n')[location.start.line - 1]),
      original: shortened(textAt(source, location)),
      replacement: shortened(oneLine(replacement)),
      status,
    }));
}

function textAt(source, { start, end }) {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  lines[lines.length - 1] = lines.at(-1).slice(0, end.column - 1);
  lines[0] = lines[0].slice(start.column - 1);
  return oneLine(lines.join('\n'));
}

const oneLine = (text) => text.replace(/\s+/g, ' ').trim();

/** A block can have many lines; its first words tell which it is. */
const shortened = (text) => (text.length > 100 ? `${text.slice(0, 100)}…` : text);

/**
 * Equivalent mutants: each with its file, the line where it begins, and its text before and after. In the file they are gathered by
 * the reason why no test can notice them, or none should.
 */
const equivalent = JSON.parse(read('test/mutation/equivalent.json')).flatMap(({ file, mutants }) =>
  mutants.map(([line, original, replacement]) => ({ file, line, original, replacement })),
);
const isSame = (one, other) => ['file', 'line', 'original', 'replacement'].every((key) => one[key] === other[key]);

/** Prints the score of a room from the results of its files, and writes down its survivors. @returns whether it is enough */
function tellRoom(room, reports, missing) {
  const mutants = reports.flatMap(([, { mutants }]) => mutants);
  const count = (...states) => mutants.filter(({ status }) => states.includes(status)).length;
  const survivors = reports.flatMap(([file, report]) => survivorsOf(file, report));
  const open = survivors.filter((found) => !equivalent.some((known) => isSame(known, found)));
  // A mutant that cannot be loaded is an error of the run, not of a test.
  const killed = count('Killed', 'RuntimeError');
  const noticed = killed + count('Timeout');
  const score = (100 * noticed) / Math.max(1, noticed + open.length);
  const file = path.join(results, `${room.name}.txt`);
  const lines = open.map(({ file, number, original, replacement, status }) => {
    const mark = status === 'NoCoverage' ? ' (no test runs it)' : '';
    return `${file}:${number}${mark}\n- ${original}\n+ ${replacement}\n`;
  });
  writeFileSync(file, lines.join('\n'));
  const uncovered = open.filter(({ status }) => status === 'NoCoverage').length;
  console.log(
    `${room.name}: ${score.toFixed(1)} %: ${killed} killed, ${count('Timeout')} timed out, ` +
      `${open.length - uncovered} survived, ${uncovered} that no test runs, ${survivors.length - open.length} equivalent ` +
      `(${path.relative(root, file)})`,
  );
  const names = new Set(reports.map(([name]) => name));
  for (const known of equivalent) {
    if (names.has(known.file) && !survivors.some((found) => isSame(known, found))) {
      console.log(
        `  equivalent.json names no survivor of now: ${known.file}: ${known.original} -> ${known.replacement}`,
      );
    }
  }
  if (missing.length > 0) console.log(`  no result yet of ${missing.length} files; run it again: ${missing.join(' ')}`);
  return missing.length === 0 && score >= WANTED_PERCENT;
}

/** @returns whether enough of a room's mutants were noticed, in all its files */
function mutateRoom(room, { only, concurrency }) {
  const endMs = Date.now() + MAX_ROOM_MS;
  const files = filesIn(room.folders, '.ts').filter((file) => file.includes(only) && (room.files?.test(file) ?? true));
  const stale = files.filter((file) => findResult(room, file) === undefined);
  for (const run of inRuns(stale)) {
    const timeout = endMs - Date.now();
    if (timeout <= 0 || !mutateFiles(room, run, { concurrency, timeout })) break;
  }
  const found = files.map((file) => [file, findResult(room, file)]);
  const reports = found.filter(([, report]) => report !== undefined);
  return tellRoom(
    room,
    reports,
    found.filter(([, report]) => report === undefined).map(([file]) => file),
  );
}

async function main() {
  const { positionals: names, values } = parseArgs({
    allowPositionals: true,
    options: { only: { type: 'string', default: '' }, concurrency: { type: 'string', default: '2' } },
  });
  const unknown = names.filter((name) => !rooms.some((room) => room.name === name));
  if (unknown.length > 0) {
    console.error(`no such room: ${unknown.join(', ')}; there are ${rooms.map(({ name }) => name).join(', ')}`);
    return 2;
  }
  const what = 'the mutation tester into test/mutation (once; 65 MB)';
  // It runs the project's own vitest, so that its peer is not installed a second time.
  if (!(await ensure()) || installPackages(packages, { what, flags: ['--legacy-peer-deps'] }) === 'failed') return 1;
  mkdirSync(results, { recursive: true });
  const chosen = rooms.filter(({ name }) => names.length === 0 || names.includes(name));
  const options = { only: values.only, concurrency: Number(values.concurrency) };
  return chosen.map((room) => mutateRoom(room, options)).every(Boolean) ? 0 : 1;
}

process.exitCode = await main();
