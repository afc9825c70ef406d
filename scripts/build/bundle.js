import { createHash } from 'node:crypto';
import path from 'node:path';
import { build } from 'esbuild';
import { vendorGroups } from './artefacts.js';
import { generatedChecksPlugin, requireInModule } from './generated-checks.js';
import { apartFromLibraries, apartFromPrograms, vendorPlugin, vendorSource } from './plugins.js';
import { bundleSplitProgram } from './split-program.js';
import { writeOutput } from './write-output.js';

/**
 * @typedef {import('./artefacts.js').Artefact} Artefact
 * @typedef {import('esbuild').BuildResult<{ write: false, metafile: true }>} Bundle
 */

const shared = /** @type {const} */ ({
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  write: false,
  logLevel: 'silent',
  // The licences of bundled packages go into a file of their own.
  legalComments: 'none',
  metafile: true,
  // Names stay: they are worth their bytes in a stack trace.
  minifyWhitespace: true,
  minifySyntax: true,
});

/** A CommonJS file has no `import.meta`; these stand for it. */
const program = /** @type {const} */ ({
  ...shared,
  format: 'cjs',
  define: {
    'import.meta.url': 'importMeta.url',
    'import.meta.dirname': '__dirname',
    'import.meta.filename': '__filename',
  },
  // A getter, because the URL takes a millisecond to make and is rarely used.
  banner: {
    js: `"use strict";const importMeta={get url(){return require('node:url').pathToFileURL(__filename).href}};`,
  },
});

const library = {
  ...shared,
  format: /** @type {const} */ ('esm'),
  // An optional peer dependency of the agents' contract suite.
  external: ['vitest'],
  banner: requireInModule,
};

/**
 * Bundles programs and, in `vendor/`, the heavy packages that programs and libraries load.
 *
 * @param {string} root
 * @param {string} outputFolder
 * @param {Artefact[]} programs
 * @returns what was written: names relative to `outputFolder`, and the bundles
 * @throws {Error} if a program cannot be bundled; the others are written nevertheless
 */
export async function bundlePrograms(root, outputFolder, programs) {
  const options = { ...program, absWorkingDir: root };
  const vendors = await Promise.all(
    Object.entries(vendorGroups).map(async ([group, specifiers]) => {
      const stdin = { contents: vendorSource(specifiers), resolveDir: root, loader: /** @type {const} */ ('js') };
      const bundle = await build({
        ...shared,
        absWorkingDir: root,
        format: 'cjs',
        minify: true,
        keepNames: true,
        stdin,
      });
      return /** @type {const} */ ([`vendor/${group}.cjs`, bundle]);
    }),
  );
  const settled = await Promise.allSettled(
    programs.map(async ({ entry, output, parts }) => {
      if (parts !== undefined) return bundleSplitProgram(root, { entry, parts }, options);
      const plugins = [apartFromPrograms, generatedChecksPlugin, vendorPlugin];
      return [/** @type {const} */ ([output, await build({ ...options, entryPoints: [entry], plugins })])];
    }),
  );
  const bundles = settled.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
  // A file is written before the files that load it, for processes that start in the middle of a build.
  const written = writeAll(outputFolder, [...vendors, ...bundles], withDigest);
  const failure = settled.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return written;
}

/**
 * Bundles each library as one ES module, which loads heavy packages from `vendor/`.
 *
 * @param {string} root
 * @param {string} outputFolder
 * @param {Artefact[]} libraries
 */
export async function bundleLibraries(root, outputFolder, libraries) {
  const plugins = [apartFromLibraries, generatedChecksPlugin, vendorPlugin];
  const bundles = await Promise.all(
    libraries.map(async ({ entry, output }) => {
      const bundle = await build({ ...library, absWorkingDir: root, entryPoints: [entry], plugins });
      return /** @type {const} */ ([output, bundle]);
    }),
  );
  return writeAll(outputFolder, bundles, (source) => source);
}

/**
 * Bundles what the page loads, for the browsers of the last years.
 *
 * @param {string} root
 * @param {string} outputFolder
 * @param {Artefact[]} pages
 */
export async function bundlePages(root, outputFolder, pages) {
  const bundles = await Promise.all(
    pages.map(async ({ entry, output }) => {
      const target = ['chrome123', 'firefox120', 'safari17.5'];
      const options = /** @type {const} */ ({ ...shared, platform: 'browser', format: 'iife', minify: true });
      const bundle = await build({ ...options, target, absWorkingDir: root, entryPoints: [entry] });
      return /** @type {const} */ ([output, bundle]);
    }),
  );
  return writeAll(outputFolder, bundles, (source) => source);
}

/**
 * @param {string} outputFolder
 * @param {(readonly [string, Bundle])[]} bundles
 * @param {(source: string) => string} finish
 */
function writeAll(outputFolder, bundles, finish) {
  for (const [name, { outputFiles }] of bundles) {
    writeOutput(path.join(outputFolder, name), finish(outputFiles.map(({ text }) => text).join('')));
  }
  return {
    files: bundles.map(([name]) => name),
    sources: bundles.flatMap(([, { metafile }]) => Object.keys(metafile.inputs)),
  };
}

/**
 * Puts a digest in front of a program, by which `bin/uwf.js` finds it in V8's code cache.
 *
 * A program that contains `import()` gets none: Node 20 refuses to run it from a cache
 * (`ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING`).
 *
 * @param {string} source
 */
function withDigest(source) {
  if (/\bimport\s*\(/.test(source)) return source;
  const text = inAscii(source);
  return `/*${createHash('sha256').update(text).digest('hex').slice(0, 16)}*/${text}`;
}

/**
 * Escapes what is not ASCII, so that the file needs no decoding. esbuild does so in strings, but not in regular expressions.
 *
 * @param {string} text
 */
function inAscii(text) {
  return text.replaceAll(/[\x80-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
