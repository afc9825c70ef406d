import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { build } from 'esbuild';

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** What generates the code of a source file. @type {Record<string, () => Promise<string>>} */
const generators = {
  'src/schema/generated-checks.ts': generateChecks,
  'src/agent/load/generated-check.ts': generateAgentCheck,
  'src/workflow/notation/generated-check.ts': () =>
    generateFileCheck('workflow/notation/file-schema.ts', 'notationSchema', 'errorsOfWorkflow'),
  'src/engine/config/generated-check.ts': () =>
    generateFileCheck('engine/config/config-schema.ts', 'configSchema', 'errorsOfConfig'),
};

/** @type {Map<string, Promise<string>>} */
const generated = new Map();

/** The code that replaces a source file, generated once; `undefined` for every other file. */
function codeOf(/** @type {string} */ file) {
  const generate = generators[path.relative(root, file)];
  if (generate === undefined) return undefined;
  const code = generated.get(file) ?? generate();
  generated.set(file, code);
  return code;
}

/**
 * Replaces the source files that check values against schemas of uwf by code that ajv generates now, once for all bundles. Compiling the
 * schemas takes ajv several times as long as Node takes to start.
 *
 * @type {import('esbuild').Plugin}
 */
export const generatedChecksPlugin = {
  name: 'generated-checks',
  setup(bundle) {
    for (const file of Object.keys(generators)) {
      if (!existsSync(path.join(root, file))) throw new Error(`${file} is not there: programs would compile schemas`);
    }
    bundle.onLoad({ filter: /\/generated-checks?\.ts$/ }, async ({ path: file }) => {
      const contents = await codeOf(file);
      return contents === undefined ? undefined : { contents, resolveDir: path.dirname(file), loader: 'js' };
    });
  },
};

/** The same for tests, which run the sources: as a plugin of Vite. */
export const generatedChecksForTests = {
  name: 'generated-checks',
  async load(/** @type {string} */ id) {
    const contents = await codeOf(id);
    return contents === undefined
      ? undefined
      : bundleSources({ contents, resolveDir: path.dirname(id), loader: 'js' }, 'esm');
  },
};

/**
 * The check of a file that people write: all errors, without ajv's messages.
 *
 * @param {string} file the source file of the schema
 * @param {string} schema what exports it
 * @param {string} name the function to generate
 */
async function generateFileCheck(file, schema, name) {
  const loaded = await loadSources(`
export { ${schema} } from './${file}';
export { createAjv } from './schema/create-ajv.ts';`);
  const { default: standaloneCode } = await import('ajv/dist/standalone/index.js');
  const ajv = await loaded.createAjv({ source: true, lines: false }, true);
  Object.assign(ajv.opts, { messages: false });
  const check = ajv.compile(withoutTexts(loaded[schema]));
  return `
const check = ((module) => {${withFiles(standaloneCode.default(ajv, check))}; return module.exports; })({});
export function ${name}(value) {
  return check(value) ? [] : check.errors;
}`;
}

/** The check of the configurations of the agents that come with uwf: it says only whether one is accepted. */
async function generateAgentCheck() {
  const { builtInAgents, createAjv } = await loadSources(`
export { builtInAgents } from './agent/load/agent-binding.ts';
export { createAjv } from './schema/create-ajv.ts';`);
  const { default: standaloneCode } = await import('ajv/dist/standalone/index.js');
  const ajv = await createAjv({ source: true, lines: false }, true);
  Object.assign(ajv.opts, { allErrors: false, messages: false });
  for (const [name, load] of Object.entries(builtInAgents)) {
    ajv.addSchema(withoutTexts((await load()).packageDescriptor.configSchema), name);
  }
  const names = Object.fromEntries(Object.keys(builtInAgents).map((name) => [name, name]));
  return `
const checks = ((exports) => {${withFiles(standaloneCode.default(ajv, names))}; return exports; })({});
export function isSurelyConfigOf(agent, config) {
  return Object.hasOwn(checks, agent) && checks[agent](config);
}`;
}

/** A schema without what only people read: the code has the schema in it. */
function withoutTexts(schema) {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(withoutTexts);
  const texts = ['x-uwf-words', 'description', 'examples'];
  // A description is a text; a property of that name has a schema.
  const entries = Object.entries(schema).filter(([key, part]) => !texts.includes(key) || part.type !== undefined);
  return Object.fromEntries(entries.map(([key, part]) => [key, withoutTexts(part)]));
}

async function generateChecks() {
  const { DIALECT, createAjv, typeNames, builtInSchema } = await loadSources(`
export { DIALECT } from './schema/built-in/schema-parts.ts';
export { createAjv } from './schema/create-ajv.ts';
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
import { isNodeHash } from '../cas/node-hash.ts';
import { DIALECT } from './built-in/schema-parts.ts';
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
 * @param {import('esbuild').StdinOptions} stdin a module
 * @param {'cjs' | 'esm'} format
 */
async function bundleSources(stdin, format) {
  const { outputFiles } = await build({
    stdin,
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
