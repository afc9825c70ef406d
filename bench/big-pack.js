import path from 'node:path';
import { makeLongThread } from './lib/long-thread-store.js';
import { quietEnvironment } from './lib/quiet-environment.js';
import { uwfCommand } from './lib/run-command.js';
import { importRandomBlobs } from './lib/random-blobs.js';
import { temporaryFolder } from './lib/temporary-folder.js';

const steps = 100;
const mebibyte = 1024 * 1024;

/** Commands in a repository with very large files. */
export const bigPack = {
  name: 'big-pack',
  summary: 'a step read from a pack of more than 2 GiB, beside a small repository (needs 5 GB of disk)',
  isSlow: true,

  async *compare({ quick, rounds = quick ? 7 : 25, folder }) {
    const { path: root, remove } = temporaryFolder(folder);
    const [small, large] = [path.join(root, 'small'), path.join(root, 'large')];
    try {
      const few = await makeLongThread(small, steps);
      const many = await makeLongThread(large, steps);
      importRandomBlobs(large, quick ? 64 : 2200, mebibyte);
      // One pack, so that the objects that are read are in the large one.
      many.git('-c', 'core.compression=0', 'repack', '-a', '-d', '-q', '--window=0');
      for (const words of [
        ['step', 'read'],
        ['cas', 'get'],
      ]) {
        yield {
          what: `uwf ${words.join(' ')}, one step of ${steps}`,
          base: 'small repository',
          rounds,
          limits: { 'pack over 2 GiB': 1.2 },
          contestants: {
            'small repository': uwfCommand([...words, few.hash], { cwd: small, env: quietEnvironment() }),
            'pack over 2 GiB': uwfCommand([...words, many.hash], { cwd: large, env: quietEnvironment() }),
          },
        };
      }
    } finally {
      remove();
    }
  },
};
