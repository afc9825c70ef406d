import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { writeOutput } from './write-output.js';

/**
 * Writes the declarations of each library as one file beside it.
 *
 * Nothing is checked here (`npm run types` does): with isolated declarations every file's declarations follow from that
 * file alone.
 *
 * @param {string} root
 * @param {string} outputFolder
 * @param {import('./artefacts.js').Artefact[]} libraries
 * @returns {Promise<string[]>} names of the files written, relative to `outputFolder`
 * @throws {Error} if the compiler cannot write them, or if they refer to a package, which would not be installed
 */
export async function writeDeclarations(root, outputFolder, libraries) {
  const scratch = mkdtempSync(path.join(outputFolder, '.types-'));
  try {
    emitDeclarations(root, scratch);
    return await Promise.all(
      libraries.map(async ({ entry, output }) => {
        const name = output.replace(/\.js$/, '.d.ts');
        const input = path.join(scratch, path.relative('src', entry).replace(/\.ts$/, '.d.ts'));
        writeOutput(path.join(outputFolder, name), await rollUp(input));
        return name;
      }),
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * @param {string} root
 * @param {string} folder
 */
function emitDeclarations(root, folder) {
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
  const argv = [compiler, '-p', path.join(root, 'tsconfig.build.json'), '--noCheck', '--outDir', folder];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the compiler could not write declarations:\n${stdout}${stderr}`);
}

/** @param {string} input */
async function rollUp(input) {
  const bundle = await rollup({ input, plugins: [dts()], external: (id) => !/^[./]/.test(id) && !path.isAbsolute(id) });
  const { output } = await bundle.generate({ format: 'es' });
  const foreign = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.imports : []));
  if (foreign.length > 0) throw new Error(`${path.basename(input)}: public types refer to ${foreign.join(', ')}`);
  return output.map((chunk) => (chunk.type === 'chunk' ? chunk.code : '')).join('');
}
