import { build, type Plugin } from 'esbuild';
import { builtinModules } from 'node:module';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../src/git/system/process-identity.ts';

/** Node's modules as scripts of browsers. */
const nodeLibraries = join(packageRoot(), 'node_modules/@jspm/core/nodelibs/browser');

/** Where uwf is installed, as far as a browser goes. */
const root = '/uwf';

/** What `node:fs` shows: no file of a repository. */
const files = { '/dev/null': '', '/tmp/.keep': '', [`${root}/package.json`]: '{ "name": "uwf" }' };

/** What those scripts lack. Nothing in a browser can stop a computation, so a time limit of `vm` is none. */
const own: Readonly<Record<string, string>> = {
  crypto: `exports.hash = (name, data, form = 'hex') => exports.createHash(name).update(data).digest(form);`,
  fs: `const { createFsFromVolume, Volume } = require('memfs');
    module.exports = createFsFromVolume(Volume.fromJSON(${JSON.stringify(files)}));`,
  os: `Object.assign(exports, { devNull: '/dev/null', hostname: () => 'browser', tmpdir: () => '/tmp' });`,
  vm: `Object.assign(exports, {
    createContext: (context) => context,
    Script: class { runInContext(context) { context.work(); } },
  });`,
};

/** Has a browser's scripts in place of Node's modules, as every bundler for browsers has to. */
const forBrowsers: Plugin = {
  name: 'for-browsers',
  setup(bundler) {
    const filter = new RegExp(`^(?:node:.+|${builtinModules.join('|')})$`);
    bundler.onResolve({ filter }, ({ path }) => ({ path: path.replace('node:', ''), namespace: 'node' }));
    bundler.onLoad({ filter: /.*/, namespace: 'node' }, ({ path: name }) => {
      const file = join(nodeLibraries, `${name}.js`);
      const found = existsSync(file)
        ? `const found = require(${JSON.stringify(file)}); Object.assign(exports, found.default, found);`
        : '';
      return { contents: `${found}\n${own[name] ?? ''}`, resolveDir: packageRoot(), loader: 'js' };
    });
  },
};

/** Node's globals that the library uses. */
const globals = `
  export { Buffer } from 'node:buffer';
  export { default as process } from 'node:process';
  export { setImmediate } from 'node:timers';
`;

/** Bundles a module with all that it imports, the library's sources among it, as a module for a browser. */
export async function bundleForBrowser(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: packageRoot(), loader: 'ts' },
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'esm',
    target: 'chrome123',
    logLevel: 'error',
    define: { global: 'globalThis', 'import.meta.dirname': JSON.stringify(root) },
    inject: ['uwf-globals'],
    plugins: [globalsPlugin, forBrowsers],
  });
  return outputFiles.map(({ text }) => text).join('');
}

const globalsPlugin: Plugin = {
  name: 'globals',
  setup(bundler) {
    bundler.onResolve({ filter: /^uwf-globals$/ }, ({ path }) => ({ path, namespace: 'globals' }));
    bundler.onLoad({ filter: /.*/, namespace: 'globals' }, () => ({ contents: globals, resolveDir: packageRoot() }));
  },
};
