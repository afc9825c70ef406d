import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { writeOutput } from './write-output.js';

/**
 * Writes the schemas of the files that people write, as the command line prints them: for editors that find them in
 * `node_modules`.
 *
 * @returns names of the files written, relative to `outputFolder`
 */
export function writeSchemas(root, outputFolder) {
  return ['workflow', 'config'].map((kind) => {
    const name = `${kind}.schema.json`;
    const command = [path.join(root, 'bin/uwf.js'), 'schema', 'show', '--for', kind];
    writeOutput(path.join(outputFolder, name), execFileSync(process.execPath, command));
    return name;
  });
}
