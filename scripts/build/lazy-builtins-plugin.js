import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** What every command needs at once; Node itself has loaded most of it. */
const eager = new Set(['node:fs', 'node:path', 'node:url', 'node:util']);

/**
 * An esbuild plugin that has Node's own modules loaded when something in them is first used, not when they are imported.
 *
 * Node's `crypto` alone takes 4 ms, and a command that shows what is known already hashes nothing.
 */
export const lazyBuiltinsPlugin = {
  name: 'lazy-builtins',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, (request) =>
      eager.has(request.path) || request.namespace === 'lazy-builtin'
        ? { path: request.path, external: true }
        : { path: request.path, namespace: 'lazy-builtin' },
    );
    build.onLoad({ filter: /.*/, namespace: 'lazy-builtin' }, (request) => {
      const names = Object.keys(require(request.path)).filter((name) => name !== 'default');
      return {
        contents: `let loaded;
const load = () => (loaded ??= require(${JSON.stringify(request.path)}));
for (const name of ${JSON.stringify(names)})
  Object.defineProperty(exports, name, { enumerable: true, get: () => load()[name] });`,
        loader: 'js',
      };
    });
  },
};
