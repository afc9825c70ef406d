import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';

export const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Replaces a source file, which has ajv compile a schema when a program runs, by code that ajv generates now.
 *
 * @param {string} source `src/schema/built-in-checks.ts`
 * @param {() => Promise<string>} generate gives the code; called once for all bundles
 * @returns {import('esbuild').Plugin}
 */
export function replacing(source, generate) {
  const replaced = path.join(root, source);
  /** @type {Promise<string> | undefined} */
  let generated;
  return {
    name: path.basename(source, '.ts'),
    setup(build) {
      if (!existsSync(replaced))
        throw new Error(`${replaced} is not there: programs would compile schemas when they run`);
      build.onLoad({ filter: new RegExp(`/${path.basename(source)}$`) }, async ({ path: file }) =>
        file === replaced
          ? { contents: await (generated ??= generate()), resolveDir: path.dirname(file), loader: 'js' }
          : undefined,
      );
    },
  };
}

/**
 * ajv as the sources make it, for generating code, and what generates it.
 *
 * @param {string} formats the name of a table in the generated code, of the formats that its schemas use
 * @param {{ isForErrors?: boolean }} [options] default: a check says only whether it accepts a value
 */
export async function createGenerator(formats, { isForErrors = false } = {}) {
  const { createAjv } = await loadSources(`export { createAjv } from './schema/json-schema/create-ajv.ts';`);
  const { default: standaloneCode } = await import('ajv/dist/standalone/index.js');
  const { Name } = await import('ajv');
  const ajv = await createAjv({ source: true, lines: false, formats: new Name(formats) });
  if (!isForErrors) Object.assign(ajv.opts, { allErrors: false, messages: false });
  return {
    /** @param {string} name @param {import("ajv").SchemaObject} schema */
    add: (name, { $id: _id, ...schema }) => ajv.addSchema(schema, name),
    /** An expression for an object with a check for each name. @param {Record<string, string>} checks */
    code: (checks) => `((exports) => {${withFiles(standaloneCode.default(ajv, checks))}; return exports; })({})`,
  };
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
 * @param {string} exported the source of a module in `src`
 */
export async function loadSources(exported) {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    stdin: {
      contents: exported,
      resolveDir: path.join(root, 'src'),
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
  compileFunction(outputFiles.map(({ text }) => text).join(''), ['require', 'module', 'exports'])(
    require,
    module,
    module.exports,
  );
  return module.exports;
}
