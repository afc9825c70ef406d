import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import type { MapRepository } from '../helpers/map-repository.ts';
import { runGit } from '../helpers/temporary-repository.ts';

/** Makes a bare repository of what is in memory, without asking git what it thinks of it. */
export function writeBareRepository(remote: MapRepository, dir: string): void {
  mkdirSync(dir, { recursive: true });
  runGit(dir, ['init', '--quiet', '--bare', '--initial-branch=main', '.']);
  for (const [id, { type, data }] of remote.objectMap) {
    const folder = join(dir, 'objects', id.slice(0, 2));
    mkdirSync(folder, { recursive: true });
    const bytes = Buffer.concat([Buffer.from(`${type} ${data.byteLength}\0`), data]);
    writeFileSync(join(folder, id.slice(2)), deflateSync(bytes, { level: 1 }));
  }
  const lines = [...remote.refMap].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, id]) => `${id} ${name}\n`);
  writeFileSync(join(dir, 'packed-refs'), `# pack-refs with: sorted\n${lines.join('')}`);
}
