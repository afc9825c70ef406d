import path from 'node:path';

<<<<<<< Updated upstream
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
        const isHere = itsPlace === place || (itsPlace > place && request.kind !== 'dynamic-import');
        if (isHere || !name.startsWith('src/')) return undefined;
        onBorrow(name);
        return { path: name, namespace: 'borrowed', pluginData: { file: parts[itsPlace].output } };
      });
      build.onResolve({ filter: /.*/, namespace: 'borrowed' }, (request) => ({ path: request.path, external: true }));
      build.onLoad({ filter: /.*/, namespace: 'borrowed' }, ({ path: name, pluginData }) => ({
        contents: `module.exports = require('./${pluginData.file}').modules[${JSON.stringify(name)}]();`,
        loader: 'js',
      }));
=======
/** A file of the source as the parts name it to each other: `src/git/tree.ts`. */
function nameOf(root, request) {
  return path.relative(root, path.resolve(request.resolveDir, request.path)).replaceAll(path.sep, '/');
}

/**
 * An esbuild plugin that leaves out of a part of a program what is in others, and takes it from there when it is needed.
 *
 * @param places in which part each file is, as far as that is known: by the name of the part's file
 * @param part the one that is bundled; what is imported by `import … from` and has no place is taken into it
 * @param late gets the names of what is imported by `import()` and has no place; left out for the last part, which takes
 *   that, too
 */
export function followingParts(root, { places, part, late }) {
  return {
    name: 'following-parts',
    setup(build) {
      build.onResolve({ filter: /^\./, namespace: 'file' }, (request) => {
        const name = nameOf(root, request);
        const place = places.get(name);
        if (place === part) return undefined;
        if (place === undefined && (request.kind !== 'dynamic-import' || late === undefined)) return undefined;
        if (place === undefined) late.add(name);
        return { path: name, namespace: 'other-part' };
      });
      // Where the place is not known yet what is made is thrown away.
      build.onLoad({ filter: /.*/, namespace: 'other-part' }, ({ path: name }) => ({
        contents: `module.exports = require('./${places.get(name)}').modules[${JSON.stringify(name)}]();`,
        loader: 'js',
      }));
      build.onResolve({ filter: /.*/, namespace: 'other-part' }, (request) => ({ path: request.path, external: true }));
>>>>>>> Stashed changes
    },
  };
}
