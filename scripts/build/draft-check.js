import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { build } from 'esbuild';

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('../..', import.meta.url));
const replaced = path.join(root, 'src/schema/json-schema/draft-check.ts');

/** @type {Promise<string> | undefined} */
let generated;

/**
 * Replaces the source file that checks whether a value is a schema of the draft by code that ajv generates now, once for all
 * bundles. Compiling the draft's own schema takes ajv twice as long as Node takes to start.
 *
 * @type {import('esbuild').Plugin}
 */
export const draftCheckPlugin = {
  name: 'draft-check',
  setup(bundle) {
    if (!existsSync(replaced)) throw new Error(`${replaced} is not there: programs would compile the draft's schema`);
    bundle.onLoad({ filter: /\/draft-check\.ts$/ }, async ({ path: file }) =>
      file === replaced
        ? { contents: await (generated ??= generateDraftCheck()), resolveDir: path.dirname(file), loader: 'js' }
        : undefined,
    );
  },
};

async function generateDraftCheck() {
  const { DIALECT, createAjv } = await loadSources(`
export { DIALECT } from './schema/built-in/schema-parts.ts';
export { createAjv } from './schema/json-schema/create-ajv.ts';`);
  const { default: standaloneCode } = await import('ajv/dist/standalone/index.js');
  const { Name } = await import('ajv');
  const ajv = await createAjv({ source: true, lines: false, formats: new Name('formats') });
  // It says only whether a value is accepted.
  Object.assign(ajv.opts, { allErrors: false, messages: false });
  const formatsFile = JSON.stringify(require.resolve('ajv-formats/dist/formats.js'));
  return `
import { DIALECT } from '../built-in/schema-parts.ts';
const formats = require(${formatsFile}).fullFormats;
const { check } = ((exports) => {${withFiles(standaloneCode.default(ajv, { check: DIALECT }))}; return exports; })({});
export function isSurelyOfDraft(schema) {
  if (schema?.$schema !== undefined && schema.$schema !== DIALECT) return false;
  try {
    return check(schema);
  } catch {
    return false;
  }
}`;
}

/** Has the parts of ajv that the code needs bundled with it. ajv as a whole is not part of the bundle. */
function withFiles(code) {
  return code.replaceAll(
    /require\("(ajv\/[^"]+)"\)/g,
    (_all, name) => `require(${JSON.stringify(require.resolve(name))})`,
  );
}

/**
 * Loads what a module exports, bundled from the sources.
 *
 * @param {string} contents the source of a module in `src`
 */
async function loadSources(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: path.join(root, 'src') },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    packages: 'external',
    supported: { 'dynamic-import': false },
    write: false,
    logLevel: 'silent',
  });
  const module = { exports: {} };
  compileFunction(outputFiles.map(({ text }) => text).join(''), ['require', 'module', 'exports'])(
    require,
    module,
    module.exports,
  );
  return module.exports;
}

/** An ES module has no `require`, by which the generated check loads parts of ajv, and bundles heavy packages. */
export const requireInModule = {
  js: `import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);`,
};
