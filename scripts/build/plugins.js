import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { artefacts, vendorGroups } from './artefacts.js';

/** @typedef {import('esbuild').Plugin} Plugin */

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Leaves the source of another artefact out of a bundle, which then loads that artefact's file.
 *
 * @param {string} output name of the artefact's file: `errors.js`
 * @returns {Plugin}
 */
function apartPlugin(output) {
  const source = artefacts.find((artefact) => artefact.output === output)?.entry ?? '';
  return {
    name: 'apart',
    setup(build) {
      build.onResolve({ filter: new RegExp(`/${path.basename(source)}$`) }, ({ kind, resolveDir, path: request }) =>
        kind !== 'entry-point' && path.resolve(resolveDir, request) === path.join(root, source)
          ? { path: `./${output}`, external: true }
          : undefined,
      );
    },
  };
}

/** Has programs load the module that contains `import()` from its own file. */
export const apartFromPrograms = apartPlugin('import-module.cjs');

/** Has all libraries share the class `UwfError`. */
export const apartFromLibraries = apartPlugin('errors.js');

/**
 * Leaves heavy packages out of a bundle, which requires them from `./vendor/<group>.cjs` when the code that imports them
 * runs.
 *
 * @type {Plugin}
 */
export const vendorPlugin = {
  name: 'vendor',
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, ({ path, namespace }) => {
      if (namespace === 'vendor') return { path, external: true };
      const group = Object.keys(vendorGroups).find((group) => vendorGroups[group]?.includes(path));
      if (group !== undefined) return { path, namespace: 'vendor', pluginData: group };
      const isHeavy = Object.values(vendorGroups)
        .flat()
        .some((specifier) => packageName(specifier) === packageName(path));
      const text = `'${path}' is part of a heavy package: add it to its group in scripts/build/artefacts.js`;
      return isHeavy ? { errors: [{ text }] } : undefined;
    });
    build.onResolve({ filter: /^\.\/vendor\//, namespace: 'vendor' }, ({ path }) => ({ path, external: true }));
    build.onLoad({ filter: /.*/, namespace: 'vendor' }, ({ path, pluginData: group }) => ({
      contents: `module.exports = require('./vendor/${group}.cjs')[${JSON.stringify(path)}]();`,
      loader: 'js',
    }));
  },
};

/**
 * The source of a group's file: a function for each specifier, so that loading one loads no other.
 *
 * @param {string[]} specifiers
 */
export function vendorSource(specifiers) {
  return specifiers
    .map((specifier) => `exports[${JSON.stringify(specifier)}] = () => require(${JSON.stringify(specifier)});\n`)
    .join('');
}

/**
 * `@scope/name/sub/path` and `name/sub/path` -> the package's name.
 *
 * @param {string} specifier
 */
function packageName(specifier) {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
