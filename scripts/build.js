#!/usr/bin/env node
// Builds what ships into dist/. Does nothing when nothing has changed since the last build.
//
//   node scripts/build.js [--quiet] [--force] [--programs]
//
// --quiet     prints nothing when there is nothing to do
// --force     builds in any case
// --programs  only what the tests start: the CLI, what its page loads, and the evaluator
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { artefacts, inputs } from './build/artefacts.js';
import { writeOutput } from './build/write-output.js';

/**
 * What was made of one kind.
 *
 * @typedef {object} Made
 * @property {string[]} files names relative to `dist/`
 * @property {string[]} sources what is bundled in them, relative to the root
 */

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const outputFolder = path.join(root, 'dist');

/** The record of the last build: for each kind what it was made from and what was made. */
const recordFile = path.join(outputFolder, '.build.json');

/** @returns {Record<string, Made & { fingerprint: string }>} */
function readRecord() {
  try {
    return JSON.parse(readFileSync(recordFile, 'utf8'));
  } catch {
    return {};
  }
}

/**
 * Digests names, sizes and times of all files that a build reads, so that a change, a new file and a deleted file each give
 * another value. Contents are not read, because that would take longer than most builds.
 */
function fingerprint() {
  const hash = createHash('sha256').update(process.version);
  /** @param {string} relativePath */
  const add = (relativePath) => {
    const stats = statSync(path.join(root, relativePath), { throwIfNoEntry: false });
    if (stats?.isDirectory()) {
      for (const name of readdirSync(path.join(root, relativePath)).toSorted()) add(`${relativePath}/${name}`);
    } else if (stats !== undefined) hash.update(`${relativePath}\0${stats.size}\0${stats.mtimeMs}\0`);
  };
  for (const input of inputs) add(input);
  return hash.digest('hex');
}

/** @returns {Promise<Made>} */
async function makePrograms() {
  const { bundlePages, bundlePrograms } = await import('./build/bundle.js');
  const of = (/** @type {string} */ wanted) => artefacts.filter(({ kind }) => kind === wanted);
  const pages = await bundlePages(root, outputFolder, of('page'));
  const programs = await bundlePrograms(root, outputFolder, of('program'));
  return { files: [...pages.files, ...programs.files], sources: [...pages.sources, ...programs.sources] };
}

/** @returns {Promise<Made>} */
async function makeLibrary() {
  const { bundleLibraries } = await import('./build/bundle.js');
  const { writeDeclarations } = await import('./build/declarations.js');
  const libraries = artefacts.filter(({ kind }) => kind === 'library');
  const { files, sources } = await bundleLibraries(root, outputFolder, libraries);
  const declarations = await writeDeclarations(root, outputFolder, libraries);
  return { files: [...files, ...declarations, ...writeSchemas()], sources };
}

/**
 * Writes the schemas of the files that people write, for editors that find them in `node_modules`. The program, which was
 * made before, prints them.
 */
function writeSchemas() {
  return ['workflow', 'config'].map((kind) => {
    const name = `${kind}.schema.json`;
    const command = [path.join(root, 'bin/uwf.js'), 'schema', 'show', '--for', kind];
    writeOutput(path.join(outputFolder, name), execFileSync(process.execPath, command));
    return name;
  });
}

/** @param {Record<string, Made>} record */
async function writeLicences(record) {
  const { licencesOf } = await import('./build/licences.js');
  const sources = Object.values(record).flatMap((made) => made.sources);
  writeOutput(path.join(outputFolder, 'LICENCES.txt'), licencesOf(root, sources));
}

/**
 * Removes what earlier builds left: every file in dist/ that no record names, and the code cache, which is of programs that have
 * been replaced. Other names with a dot in front are the record, or the scratch of another build, which may go at any moment.
 *
 * @param {Record<string, Made>} record
 */
function removeLeftovers(record) {
  removeCodeCache();
  const claimed = new Set(['LICENCES.txt', ...Object.values(record).flatMap(({ files }) => files)]);
  /** @param {string} folder */
  const tidy = (folder) => {
    for (const entry of readdirSync(path.join(outputFolder, folder), { withFileTypes: true })) {
      if (entry.name.startsWith('.') || entry.name.endsWith('.tmp')) continue;
      const name = path.join(folder, entry.name);
      if (entry.isDirectory()) tidy(name);
      else if (!claimed.has(name)) rmSync(path.join(outputFolder, name), { force: true });
    }
  };
  tidy('');
}

/** Programs that run write to it at any moment, so it is moved aside first. */
function removeCodeCache() {
  const aside = path.join(outputFolder, `.code-cache.${process.pid}`);
  try {
    renameSync(path.join(outputFolder, '.code-cache'), aside);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  rmSync(aside, { recursive: true, force: true, maxRetries: 5 });
}

/** @param {string} name */
function sizeOf(name) {
  return `${(statSync(path.join(outputFolder, name)).size / 1024).toFixed(1)} kB`;
}

/**
 * Brings dist/ up to date.
 *
 * @param {object} [options]
 * @param {boolean} [options.programsOnly] leave the library and its declarations as they are
 * @param {boolean} [options.force] build although nothing has changed
 * @param {(file: string, size: string) => void} [options.log] called for each file that was written
 * @returns {Promise<boolean>} whether anything was built
 */
export async function build({ programsOnly = false, force = false, log = () => {} } = {}) {
  mkdirSync(path.join(outputFolder, 'web'), { recursive: true });
  const current = fingerprint();
  const record = readRecord();
  const isThere = (/** @type {string} */ name) => statSync(path.join(outputFolder, name), { throwIfNoEntry: false });
  const isCurrent = (/** @type {string} */ kind) =>
    record[kind]?.fingerprint === current && record[kind].files.every((name) => isThere(name) !== undefined);
  const makers = Object.entries({ programs: makePrograms, ...(programsOnly ? {} : { library: makeLibrary }) });
  const stale = makers.filter(([kind]) => force || !isCurrent(kind));
  if (stale.length === 0) return false;

  for (const [kind, make] of stale) {
    const made = await make();
    record[kind] = { ...made, fingerprint: current };
    for (const name of made.files) log(`dist/${name}`, sizeOf(name));
  }
  await writeLicences(record);
  removeLeftovers(record);
  writeOutput(recordFile, `${JSON.stringify(record, null, 2)}\n`);
  return true;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const flags = new Set(process.argv.slice(2));
  const didBuild = await build({
    programsOnly: flags.has('--programs'),
    force: flags.has('--force'),
    log: (file, size) => console.log(`${file.padEnd(36)} ${size.padStart(10)}`),
  }).catch((/** @type {Error} */ error) => {
    console.error(error.message);
    process.exitCode = 1;
    return true;
  });
  if (!didBuild && !flags.has('--quiet')) console.log('dist is up to date');
}
