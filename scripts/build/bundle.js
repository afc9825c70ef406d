import { createHash } from 'node:crypto';
import path from 'node:path';
import { apartPlugin } from './apart-plugin.js';
import { builtInChecksPlugin } from './built-in-checks-plugin.js';
import { licencesOf } from './licences.js';
import { bundleSplitProgram } from './split-program.js';
import { vendorPlugin, vendorSource } from './vendor-plugin.js';
import { writeOutput } from './write-output.js';

const shared = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  write: false,
  logLevel: 'silent',
  // The licences of what is bundled go into a file of their own.
  legalComments: 'none',
  metafile: true,
};

/** In a CommonJS file there is no `import.meta`; these say the same. */
const program = {
  format: 'cjs',
  define: {
    'import.meta.url': 'importMeta.url',
    'import.meta.dirname': '__dirname',
    'import.meta.filename': '__filename',
  },
  // Hardly anybody asks for the URL, which takes a millisecond to make.
  banner: {
    js: `"use strict";const importMeta={get url(){return require('node:url').pathToFileURL(__filename).href}};`,
  },
  // Whitespace and comments only cost reading; names are worth their bytes in a stack trace.
  minifyWhitespace: true,
  minifySyntax: true,
};

/**
 * Puts a digest in front of a program, by which `bin/uwf.js` knows what it has in its cache.
 *
 * Programs that say `import()` get none: run from a cache, Node 20 refuses them (`ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING`).
 */
function withDigest(source) {
  if (/\bimport\s*\(/.test(source)) return source;
  const text = inAscii(source);
  return `/*${createHash('sha256').update(text).digest('hex').slice(0, 16)}*/${text}`;
}

/** The same program for a reader that decodes nothing: esbuild escapes strings, but leaves regular expressions as they are. */
function inAscii(text) {
  return text.replaceAll(/[\x80-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Bundles programs and, next to them in `vendor/`, the heavy packages that they ask for.
 *
 * @returns names of the files written, relative to `outputFolder`
 * @throws {Error} if a program cannot be bundled; its message says where and why
 */
export async function bundlePrograms(root, outputFolder, programs) {
  const { build } = await import('esbuild');
  const wanted = new Map();
  const written = [];

  const write = (name, result) => {
    writeOutput(path.join(outputFolder, name), withDigest(result.outputFiles[0].text));
    written.push(name);
  };

  // A program that cannot be built does not hold up the others; what is wrong with it is said in the end.
  const options = { ...shared, ...program, absWorkingDir: root };
  const settled = await Promise.allSettled(
    programs.map(async (artefact) => {
      if (artefact.parts !== undefined) return bundleSplitProgram(root, artefact, { build, options, wanted });
      return [
        [
          artefact.output,
          await build({
            ...options,
            entryPoints: [artefact.entry],
            plugins: [apartPlugin, builtInChecksPlugin, vendorPlugin(wanted)],
          }),
        ],
      ];
    }),
  );
  const bundles = settled.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
  const vendors = await Promise.all(
    [...wanted].map(async ([group, specifiers]) => [
      `vendor/${group}.cjs`,
      await build({
        ...shared,
        absWorkingDir: root,
        format: 'cjs',
        minify: true,
        keepNames: true,
        stdin: { contents: vendorSource(specifiers), resolveDir: root, loader: 'js' },
      }),
    ]),
  );

  // What is required comes before what requires it, for readers in the middle of a build.
  const results = [...vendors, ...bundles];
  for (const [name, result] of results) write(name, result);

  const licences = licencesOf(
    root,
    results.map(([, result]) => result),
  );
  writeOutput(path.join(outputFolder, 'LICENCES.txt'), licences);
  const failure = settled.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return [...written, 'LICENCES.txt'];
}

/** Bundles each library as one ES module; its packages stay imports. */
export async function bundleLibraries(root, outputFolder, libraries) {
  const { build } = await import('esbuild');
  const results = await Promise.all(
    libraries.map(({ entry }) =>
      build({
        ...shared,
        format: 'esm',
        packages: 'external',
        absWorkingDir: root,
        entryPoints: [entry],
        plugins: [builtInChecksPlugin],
      }),
    ),
  );
  return libraries.map(({ output }, index) => {
    writeOutput(path.join(outputFolder, output), results[index].outputFiles[0].contents);
    return output;
  });
}
