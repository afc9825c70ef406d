#!/usr/bin/env node
// Builds what ships into dist/. Does nothing when nothing has changed since the last build.
//
//   node scripts/build.js [--quiet] [--force] [--programs]
//
// --quiet     prints nothing when there is nothing to do
// --force     builds in any case
// --programs  only what the tests start: the CLI and the evaluator
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { artefacts } from './build/artefacts.js';
import { fingerprint } from './build/fingerprint.js';
import { writeOutput } from './build/write-output.js';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const outputFolder = path.join(root, 'dist');

/** The record of what each kind of artefact was built from, and which files that made. */
const recordFile = path.join(outputFolder, '.build.json');

function readRecord() {
  try {
    return JSON.parse(readFileSync(recordFile, 'utf8'));
  } catch {
    return {};
  }
}

function isCurrent(entry, current) {
  return (
    entry?.fingerprint === current &&
    entry.files.every((name) => statSync(path.join(outputFolder, name), { throwIfNoEntry: false }) !== undefined)
  );
}

async function makePrograms() {
  const { bundlePrograms } = await import('./build/bundle.js');
  return bundlePrograms(
    root,
    outputFolder,
    artefacts.filter((artefact) => artefact.kind === 'program'),
  );
}

async function makeLibrary() {
  const [{ bundleLibraries }, { writeDeclarations }, { writeSchemas }] = await Promise.all([
    import('./build/bundle.js'),
    import('./build/declarations.js'),
    import('./build/schemas.js'),
  ]);
  const libraries = artefacts.filter((artefact) => artefact.kind === 'library');
  return [
    ...(await bundleLibraries(root, outputFolder, libraries)),
    ...writeDeclarations(root, outputFolder),
    // By the program that was made before.
    ...writeSchemas(root, outputFolder),
  ];
}

/** Removes what earlier builds left: every file in dist/ that no artefact claims. */
function removeLeftovers(record) {
  const claimed = new Set(Object.values(record).flatMap((entry) => entry.files));
  for (const entry of readdirSync(outputFolder, { recursive: true, withFileTypes: true })) {
    const name = path.relative(outputFolder, path.join(entry.parentPath, entry.name));
    // Names with a dot in front are the record and the scratch of another build that runs now.
    const isOurs = claimed.has(name) || name.startsWith('.') || name.endsWith('.tmp');
    // What V8 made of programs that are no more.
    const isCache = name.startsWith('.code-cache');
    if (entry.isFile() && (!isOurs || isCache)) rmSync(path.join(outputFolder, name), { force: true });
  }
}

function describe(files, log) {
  const types = files.filter((name) => name.startsWith('types'));
  for (const name of files.filter((name) => !types.includes(name))) log(`dist/${name}`, sizeOf([name]));
  if (types.length > 0) log(`dist/types (${types.length} files)`, sizeOf(types));
}

function sizeOf(files) {
  const bytes = files.reduce((sum, name) => sum + statSync(path.join(outputFolder, name)).size, 0);
  return `${(bytes / 1024).toFixed(1)} kB`;
}

/**
 * Brings dist/ up to date.
 *
 * @param options.programsOnly leave the library and its declarations as they are
 * @param options.force build although nothing has changed
 * @param options.log told each file that was written, with its size
 * @returns whether anything was built
 */
export async function build({ programsOnly = false, force = false, log = () => {} } = {}) {
  mkdirSync(outputFolder, { recursive: true });
  const current = fingerprint(root);
  const record = readRecord();
  const makers = { programs: makePrograms, ...(programsOnly ? {} : { library: makeLibrary }) };
  const stale = Object.keys(makers).filter((kind) => force || !isCurrent(record[kind], current));
  if (stale.length === 0) return false;

  for (const kind of stale) {
    const files = await makers[kind]();
    record[kind] = { fingerprint: current, files };
    describe(files, log);
  }
  removeLeftovers(record);
  writeOutput(recordFile, `${JSON.stringify(record, null, 2)}\n`);
  return true;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const flags = new Set(process.argv.slice(2));
  const log = (what, size) => console.log(`${what.padEnd(36)} ${size.padStart(10)}`);
  try {
    const didBuild = await build({ programsOnly: flags.has('--programs'), force: flags.has('--force'), log });
    if (!didBuild && !flags.has('--quiet')) console.log('dist is up to date');
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
