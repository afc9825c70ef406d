import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { quietEnvironment } from './quiet-environment.js';

/** Fills a branch with incompressible blobs in one pack, as in a repository with large files. */
export function importRandomBlobs(folder, count, bytes) {
  const file = path.join(folder, 'stream');
  const stream = openSync(file, 'w');
  for (let number = 1; number <= count; number += 1) {
    writeSync(stream, `blob\nmark :${number}\ndata ${bytes}\n`);
    writeSync(stream, randomBytes(bytes));
  }
  const who = 'Bench <bench@example.org> 1795262400 +0000';
  writeSync(stream, `commit refs/heads/main\ncommitter ${who}\ndata 0\n`);
  for (let number = 1; number <= count; number += 1) {
    writeSync(stream, `M 100644 :${number} ${number % 256}/${number}\n`);
  }
  writeSync(stream, 'done\n');
  closeSync(stream);
  const input = openSync(file, 'r');
  const argv = ['-c', 'core.compression=0', 'fast-import', '--quiet', '--done', '--depth=0', '--max-pack-size=100g'];
  const { status, stderr } = spawnSync('git', argv, {
    cwd: folder,
    env: quietEnvironment(),
    stdio: [input, 'ignore', 'pipe'],
  });
  closeSync(input);
  rmSync(file);
  if (status !== 0) throw new Error(`git fast-import failed: ${String(stderr)}`);
}
