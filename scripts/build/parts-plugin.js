import path from 'node:path';

/**
 * An esbuild plugin that leaves out of one part of a program what lies in another, and has it taken from there when it is
 * needed.
 *
 * @param parts of the program, each with the name of its `output`
 * @param place of the part that is made
 * @param placeOf tells of a file of the source (`src/git/tree.ts`) which part has it; a later one counts only for `import()`
 * @param onBorrow is told each file that is taken from another part
 */
export function partsPlugin(root, { parts, place, placeOf, onBorrow }) {
  return {
    name: 'parts',
    setup(build) {
      build.onResolve({ filter: /^\./, namespace: 'file' }, (request) => {
        const name = path.relative(root, path.resolve(request.resolveDir, request.path)).replaceAll(path.sep, '/');
        const itsPlace = placeOf(name);
        const isAskedFor = request.kind === 'dynamic-import';
        // A part that is evaluated at once asks itself, too: else what is asked for later would be a thing apart.
        const isHere = itsPlace === place ? !(isAskedFor && parts[place].isAtOnce) : itsPlace > place && !isAskedFor;
        if (isHere || !name.startsWith('src/')) return undefined;
        onBorrow(name);
        return { path: name, namespace: 'borrowed', pluginData: { file: parts[itsPlace].output } };
      });
      build.onResolve({ filter: /.*/, namespace: 'borrowed' }, (request) => ({ path: request.path, external: true }));
      build.onLoad({ filter: /.*/, namespace: 'borrowed' }, ({ path: name, pluginData }) => ({
        // Inherited and not the same: who imports it copies every property that it has itself.
        contents: `module.exports = Object.create(require('./${pluginData.file}').modules[${JSON.stringify(name)}]());`,
        loader: 'js',
      }));
    },
  };
}
