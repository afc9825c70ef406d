import nodeFs from 'node:fs';
import { openRepository } from '../../src/git/open-repository.ts';
import { openPortableRepository } from '../../src/git/stores/portable/open-portable-repository.ts';
import type { Repository } from '../../src/git/repository.ts';

/** The two ways to open a repository on a disk, for tests of both. */
export const backends: [name: string, open: (dir: string) => Promise<Repository>][] = [
  ['disk', (dir) => openRepository(dir)],
  ['portable', (dir) => openPortableRepository({ fs: nodeFs, dir })],
];
