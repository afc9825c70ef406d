import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { inputs } from './artefacts.js';

/**
 * Digests names, sizes and times of all that a build reads, so that a change, a new file and a deleted file each give
 * another value. Contents are not read: that would take longer than most builds.
 */
export function fingerprint(root) {
  const hash = createHash('sha256').update(process.version);
  for (const input of inputs) addPath(hash, root, input);
  return hash.digest('hex');
}

function addPath(hash, root, relativePath) {
  const stats = statSync(path.join(root, relativePath), { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (stats.isDirectory()) {
    const names = readdirSync(path.join(root, relativePath)).toSorted();
    for (const name of names) addPath(hash, root, `${relativePath}/${name}`);
    return;
  }
  hash.update(`${relativePath}\0${stats.size}\0${stats.mtimeMs}\0`);
}
