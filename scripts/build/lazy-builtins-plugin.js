/** What every command needs at once; Node itself has loaded most of it. */
const eager = new Set(['node:fs', 'node:path', 'node:url', 'node:util']);

/**
 * The source of a module that stands for one of Node's own.
 *
 * Whoever imports a CommonJS module gets a copy of it, property by property, of which `node:fs` has a hundred, and a file
 * that imports it makes one of its own. What a module inherits is not copied: so these have nothing themselves, and inherit
 * from Node's module, or from what loads it when it is first asked and steps aside.
 */
function sourceOf(name) {
  const load = `require(${JSON.stringify(name)})`;
  if (eager.has(name)) return `module.exports = Object.create(${load});`;
  return `const lazy = Object.create(new Proxy({}, {
  get(target, name) {
    const loaded = ${load};
    Object.setPrototypeOf(lazy, loaded);
    return loaded[name];
  },
}));
// Who imports asks for this at once.
module.exports = Object.create(lazy, { __esModule: { value: false } });`;
}

/**
 * An esbuild plugin that has Node's own modules loaded when something in them is first used, not when they are imported.
 *
 * Node's `crypto` alone takes 4 ms, and a command that shows what is known already hashes nothing.
 */
export const lazyBuiltinsPlugin = {
  name: 'lazy-builtins',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path, namespace }) =>
      namespace === 'lazy-builtin' ? { path, external: true } : { path, namespace: 'lazy-builtin' },
    );
    build.onLoad({ filter: /.*/, namespace: 'lazy-builtin' }, ({ path }) => ({
      contents: sourceOf(path),
      loader: 'js',
    }));
  },
};
