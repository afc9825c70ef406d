import { vendorGroups } from './artefacts.js';

/** `@scope/name/sub/path` and `name/sub/path` -> the package's name. */
function packageName(specifier) {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function groupOf(specifier) {
  const name = packageName(specifier);
  return Object.keys(vendorGroups).find((group) => vendorGroups[group].includes(name));
}

/**
 * An esbuild plugin that leaves heavy packages out of a bundle and has it require them, when it comes to it, from
 * `./vendor/<group>.cjs`. What was asked for is added to `wanted` (group -> specifiers); `vendorSource` makes the
 * source of those files from it.
 */
export function vendorPlugin(wanted) {
  return {
    name: 'vendor',
    setup(build) {
      build.onResolve({ filter: /^[^./]/ }, (request) => {
        if (request.namespace === 'vendored') return { path: request.path, external: true };
        const group = groupOf(request.path);
        if (group === undefined) return undefined;
        if (!wanted.has(group)) wanted.set(group, new Set());
        wanted.get(group).add(request.path);
        return { path: request.path, namespace: 'vendored', pluginData: { group } };
      });
      build.onResolve({ filter: /^\.\/vendor\//, namespace: 'vendored' }, (request) => ({
        path: request.path,
        external: true,
      }));
      build.onLoad({ filter: /.*/, namespace: 'vendored' }, (request) => ({
        contents: `module.exports = require('./vendor/${request.pluginData.group}.cjs')[${JSON.stringify(request.path)}]();`,
        loader: 'js',
      }));
    },
  };
}

/** The source of a group's file: a function per specifier, so that loading one loads no other. */
export function vendorSource(specifiers) {
  return [...specifiers]
    .toSorted()
    .map((specifier) => `exports[${JSON.stringify(specifier)}] = () => require(${JSON.stringify(specifier)});\n`)
    .join('');
}
