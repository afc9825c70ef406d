import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { builtInChecksPlugin } from '../../scripts/build/built-in-checks-plugin.js';

const root = resolve(import.meta.dirname, '../..');

/**
 * Bundles modules of src/ and loads them, so that what the public API does not show can be measured too.
 *
 * @param {...string} paths from the repository's root: `src/cas/hash.ts`
 * @returns all exports of these modules together
 */
export async function loadSource(...paths) {
  // Beside the packages that the bundle leaves outside, so that they are found.
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
      // As in what ships.
      plugins: [builtInChecksPlugin],
      logLevel: 'error',
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
