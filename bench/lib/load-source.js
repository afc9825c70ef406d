import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { generatedChecksPlugin, requireInModule } from '../../scripts/build/generated-checks.js';

const root = resolve(import.meta.dirname, '../..');

/**
 * Bundles modules of src/ and loads them, so that internal functions can be measured too.
 *
 * @param {...string} paths from the repository's root: `src/cas/hash.ts`
 * @returns all exports of these modules together
 */
export async function loadSource(...paths) {
  // The bundle is beside the packages that it does not include, so that Node finds them.
  const folder = mkdtempSync(join(root, 'node_modules/.uwf-bench-'));
  try {
    const outfile = join(folder, 'source.mjs');
    const contents = paths.map((path) => `export * from ${JSON.stringify(join(root, path))};`).join('\n');
    await build({
      stdin: { contents, resolveDir: root, loader: 'ts' },
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      packages: 'external',
      // As in the shipped programs.
      plugins: [generatedChecksPlugin],
      banner: requireInModule,
      logLevel: 'error',
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
