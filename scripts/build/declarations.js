import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writeOutput } from './write-output.js';

/** `from './x.ts'` and `import('./x.ts')`: the compiler leaves these endings in declarations. */
const relativeTs = /((?:from|import)\s*\(?\s*['"]\.[^'"]*)\.ts(['"])/g;

/**
 * Writes the declarations of the library to `types/`.
 *
 * Nothing is checked here (`npm run types` does): with isolated declarations every file's declarations follow from that
 * file alone.
 * @returns names of the files written, relative to `outputFolder`
 * @throws {Error} if the compiler cannot write them
 */
export function writeDeclarations(root, outputFolder) {
  const scratch = mkdtempSync(path.join(outputFolder, '.types-'));
  try {
    const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
    const result = spawnSync(
      process.execPath,
      [compiler, '-p', path.join(root, 'tsconfig.build.json'), '--noCheck', '--outDir', scratch],
      { cwd: root, encoding: 'utf8' },
    );
    if (result.status !== 0)
      throw new Error(`the compiler could not write declarations:\n${result.stdout}${result.stderr}`);

    const names = readdirSync(scratch, { recursive: true }).filter((name) => name.endsWith('.d.ts'));
    for (const name of names) {
      const text = readFileSync(path.join(scratch, name), 'utf8').replace(relativeTs, '$1.js$2');
      writeOutput(path.join(outputFolder, 'types', name), text);
    }
    return names.map((name) => path.join('types', name));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
