import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** What the generated code calls a table of the formats that the built-in schemas use. */
const formats = 'formats';

/**
 * An esbuild plugin that puts code made of the built-in schemas in the place of `src/schema/built-in-checks.ts`, which has
 * ajv compile them when it runs.
 *
 * Schemas that refer to the draft's own schema stay with ajv: who checks a schema needs ajv to compile it anyway.
 */
export const builtInChecksPlugin = {
  name: 'built-in-checks',
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/]schema[\\/]built-in-checks\.ts$/ }, async ({ path: file }) => ({
      contents: await generateChecks(),
      resolveDir: path.dirname(file),
      loader: 'js',
    }));
  },
};

async function generateChecks() {
  const { builtInTypes, builtInSchema, createAjv, DIALECT } = await loadSources();
  const { default: standaloneCode } = await import('ajv/dist/standalone/index.js');
  const { _ } = await import('ajv');
  const ajv = await createAjv({ source: true, formats: _`${_([formats])}` });
  const types = builtInTypes.filter((type) => builtInSchema(type).$ref !== DIALECT);
  for (const type of types) ajv.addSchema(withoutId(builtInSchema(type)), type);
  const code = standaloneCode.default(ajv, Object.fromEntries(types.map((type) => [nameInCode(type), type])));
  return `
import { isNodeHash } from '../cas/node-hash.ts';
import { builtInSchema } from './built-in.ts';
import { readableErrors } from './schema-error.ts';
import { validateAgainst } from './validator.ts';
const ${formats} = { cas_ref: { type: 'string', validate: isNodeHash } };
const checks = ((exports) => {${withFiles(code)}; return exports; })({});
export async function checkBuiltIn(type, payload) {
  const check = checks['type_' + type];
  if (check === undefined) return validateAgainst(builtInSchema(type), payload);
  return check(payload) ? [] : readableErrors(check.errors);
}`;
}

/** A name of the code's own: a hash may begin with a digit. */
function nameInCode(type) {
  return `type_${type}`;
}

function withoutId({ $id: _id, ...schema }) {
  return schema;
}

/** Has parts of ajv that the code needs bundled with it, where the package as a whole is left out. */
function withFiles(code) {
  return code.replaceAll(
    /require\("(ajv\/[^"]+)"\)/g,
    (_all, name) => `require(${JSON.stringify(require.resolve(name))})`,
  );
}

/** The schemas and the validator, out of the sources. */
async function loadSources() {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    stdin: {
      contents: `export { builtInTypes, builtInSchema } from './built-in.ts';
export { DIALECT } from './built-in/schema-parts.ts';
export { createAjv } from './create-ajv.ts';`,
      resolveDir: path.join(root, 'src/schema'),
    },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    packages: 'external',
    supported: { 'dynamic-import': false },
    write: false,
    logLevel: 'silent',
  });
  const module = { exports: {} };
  compileFunction(outputFiles[0].text, ['require', 'module', 'exports'])(require, module, module.exports);
  return module.exports;
}
