import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { build } from 'esbuild';

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('../..', import.meta.url));
const replaced = path.join(root, 'src/schema/json-schema/generated-checks.ts');

/** @type {Promise<string> | undefined} */
let generated;

/**
 * Replaces the source file that checks schemas of the draft and payloads of built-in types by code that ajv generates now, once for all
 * bundles. Compiling the schemas takes ajv several times as long as Node takes to start.
 *
 * @type {import('esbuild').Plugin}
 */
export const generatedChecksPlugin = {
  name: 'generated-checks',
  setup(bundle) {
    if (!existsSync(replaced)) throw new Error(`${replaced} is not there: programs would compile built-in schemas`);
    bundle.onLoad({ filter: /\/generated-checks\.ts$/ }, async ({ path: file }) =>
      file === replaced
        ? { contents: await (generated ??= generateChecks()), resolveDir: path.dirname(file), loader: 'js' }
        : undefined,
    );
  },
};

/** The same for tests, which run the sources: as a plugin of Vite. */
export const generatedChecksForTests = {
  name: 'generated-checks',
  async load(/** @type {string} */ id) {
    return id === replaced
      ? bundleSources({ contents: await (generated ??= generateChecks()), loader: 'js' }, 'esm')
      : undefined;
  },
};

async function generateChecks() {
  const { DIALECT, createAjv, typeNames, builtInSchema } = await loadSources(`
export { DIALECT } from './schema/built-in/schema-parts.ts';
export { createAjv } from './schema/json-schema/create-ajv.ts';
export { builtInSchema, typeNames } from './schema/built-in.ts';`);
  const { default: standaloneCode } = await import('ajv/dist/standalone/index.js');
  const { Name } = await import('ajv');
  const ajv = await createAjv({ source: true, lines: false, formats: new Name('formats') });
  // It says only whether a value is accepted.
  Object.assign(ajv.opts, { allErrors: false, messages: false });
  /** Parts that several schemas share are compiled once. @type {Map<object, string>} */
  const parts = new Map();
  const withParts = (schema, isWhole = false) => {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema;
    const entries = Object.entries(schema).map(([key, part]) => [key, withParts(part)]);
    const split = Object.fromEntries(entries);
    if (isWhole || schema.type !== 'object' || schema.properties === undefined) return split;
    if (!parts.has(schema)) {
      parts.set(schema, `part-${parts.size}`);
      ajv.addSchema(split, parts.get(schema));
    }
    return { $ref: parts.get(schema) };
  };
  for (const name of typeNames) ajv.addSchema(withParts(builtInSchema(name), true), name);
  const code = standaloneCode.default(ajv, {
    draft: DIALECT,
    ...Object.fromEntries(typeNames.map((name) => [name, name])),
  });
  const formatsFile = JSON.stringify(require.resolve('ajv-formats/dist/formats.js'));
  return `
import { isNodeHash } from '../../cas/node-hash.ts';
import { DIALECT } from '../built-in/schema-parts.ts';
const formats = { ...require(${formatsFile}).fullFormats, cas_ref: { validate: isNodeHash } };
const checks = ((exports) => {${withFiles(code)}; return exports; })({});
function accepts(name, value) {
  try {
    return checks[name](value);
  } catch {
    return false;
  }
}
export function isSurelyOfDraft(schema) {
  if (schema?.$schema !== undefined && schema.$schema !== DIALECT) return false;
  return accepts('draft', schema);
}
export function isSurelyOfType(name, payload) {
  return accepts(name, payload);
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
  const module = { exports: {} };
  const code = await bundleSources({ contents, resolveDir: path.join(root, 'src') }, 'cjs');
  compileFunction(code, ['require', 'module', 'exports'])(require, module, module.exports);
  return module.exports;
}

/**
 * @param {import('esbuild').StdinOptions} stdin a module, by default of the folder of the checks
 * @param {'cjs' | 'esm'} format
 */
async function bundleSources(stdin, format) {
  const { outputFiles } = await build({
    stdin: { resolveDir: path.dirname(replaced), ...stdin },
    bundle: true,
    format,
    platform: 'node',
    packages: 'external',
    supported: { 'dynamic-import': format === 'esm' },
    write: false,
    logLevel: 'silent',
  });
  return outputFiles.map(({ text }) => text).join('');
}

/** An ES module has no `require`, by which the generated check loads parts of ajv, and bundles heavy packages. */
export const requireInModule = {
  js: `import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);`,
};
