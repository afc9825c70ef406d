import { createGenerator, loadSources, replacing, require } from './generated-checks.js';

/** The built-in schemas. Those of schemas refer to the draft's own; ajv says what is wrong with what it does not accept. */
async function generateBuiltInChecks() {
  const { builtInTypes, builtInSchema, DIALECT } = await loadSources(`
export { builtInTypes, builtInSchema } from './schema/built-in.ts';
export { DIALECT } from './schema/built-in/schema-parts.ts';`);
  const { add, code } = await createGenerator('formats', { isForErrors: true });
  const types = builtInTypes.filter((type) => builtInSchema(type).$ref !== DIALECT);
  for (const type of types) add(type, builtInSchema(type));
  // A hash alone may begin with a digit.
  const checks = code(Object.fromEntries(types.map((type) => [`type_${type}`, type])));
  return `
import { isNodeHash } from '../cas/node-hash.ts';
import { builtInSchema } from './built-in.ts';
import { isPlainSchema } from './json-schema/plain-schema.ts';
import { readableErrors } from './json-schema/schema-error.ts';
import { validateAgainst } from './json-schema/validate-against.ts';
const formats = { cas_ref: { type: 'string', validate: isNodeHash } };
const checks = ${checks};
export async function checkBuiltIn(type, payload) {
  const check = checks['type_' + type];
  if (check === undefined) return checkSchema(builtInSchema(type), payload);
  return check(payload) ? [] : readableErrors(check.errors);
}
async function checkSchema(schema, payload) {
  if (isPlainSchema(payload)) return [];
  const { isSurelyOfDraft } = await import('./json-schema/draft-check.ts');
  return isSurelyOfDraft(payload) ? [] : validateAgainst(schema, payload);
}`;
}

/** The draft's own schema. Compiling it takes ajv twice as long as Node takes to start. */
async function generateDraftCheck() {
  const { DIALECT } = await loadSources(`export { DIALECT } from './schema/built-in/schema-parts.ts';`);
  const { code } = await createGenerator('formats');
  const formatsFile = JSON.stringify(require.resolve('ajv-formats/dist/formats.js'));
  return `
import { DIALECT } from '../built-in/schema-parts.ts';
const formats = require(${formatsFile}).fullFormats;
const { check } = ${code({ check: DIALECT })};
export function isSurelyOfDraft(schema) {
  if (schema?.$schema !== undefined && schema.$schema !== DIALECT) return false;
  try {
    return check(schema);
  } catch {
    return false;
  }
}`;
}

/** The configurations of the built-in agents. */
async function generateConfigChecks() {
  const { builtInAgents } = await loadSources(`export { builtInAgents } from './agent/load/built-in-agents.ts';`);
  const { add, code } = await createGenerator('formats');
  const names = Object.keys(builtInAgents);
  for (const name of names) add(name, (await builtInAgents[name]()).packageDescriptor.configSchema);
  return `
const formats = {};
const checks = ${code(Object.fromEntries(names.map((name) => [name, name])))};
export function isSurelyConfigOf(reference, config) {
  const name = reference.startsWith('builtin:') ? reference.slice('builtin:'.length) : '';
  try {
    return Object.hasOwn(checks, name) && checks[name](config);
  } catch {
    return false;
  }
}`;
}

/** Replaces the source files that check against uwf's own schemas by code that ajv generates of these. */
export const checkPlugins = [
  replacing('src/schema/built-in-checks.ts', generateBuiltInChecks),
  replacing('src/schema/json-schema/draft-check.ts', generateDraftCheck),
  replacing('src/agent/load/config-check.ts', generateConfigChecks),
];

/** An ES module has no `require`, by which generated checks load parts of ajv, and bundles heavy packages. */
export const requireInModule = {
  js: `import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);`,
};
