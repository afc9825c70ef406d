import path from 'node:path';

/** A file of the source as the two parts name it to each other: `src/git/tree.ts`. */
function nameOf(root, request) {
  return path.relative(root, path.resolve(request.resolveDir, request.path)).replaceAll(path.sep, '/');
}

/** Resolves an import to a one-line module that takes the other part's module. */
function borrow(build, { namespace, file, expression }) {
  build.onResolve({ filter: /.*/, namespace }, (request) => ({ path: request.path, external: true }));
  build.onLoad({ filter: /.*/, namespace }, (request) => ({
    contents: `module.exports = require('./${file}')${expression}[${JSON.stringify(request.path)}]();`,
    loader: 'js',
  }));
}

/**
 * An esbuild plugin that leaves out what is imported by `import()`, but for some files.
 *
 * @param isEarly tells of a file's name whether it stays in
 * @param late gets the names of what was left out; it is taken from `lateFile` when it is needed
 */
export function withoutLate(root, { isEarly, late, lateFile }) {
  return {
    name: 'without-late',
    setup(build) {
      build.onResolve({ filter: /^\./ }, (request) => {
        if (request.kind !== 'dynamic-import') return undefined;
        const name = nameOf(root, request);
        if (isEarly(name)) return undefined;
        late.add(name);
        return { path: name, namespace: 'late' };
      });
      borrow(build, { namespace: 'late', file: lateFile, expression: '' });
    },
  };
}

/** An esbuild plugin that takes the files in `early` from `earlyFile`, where they are, so that there is one of each. */
export function borrowingEarly(root, { early, earlyFile }) {
  return {
    name: 'borrowing-early',
    setup(build) {
      build.onResolve({ filter: /^\./, namespace: 'file' }, (request) => {
        const name = nameOf(root, request);
        return early.has(name) ? { path: name, namespace: 'early' } : undefined;
      });
      borrow(build, { namespace: 'early', file: earlyFile, expression: '.modules' });
    },
  };
}
