import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFsFromVolume, Volume } from 'memfs';
import type { IFs } from 'memfs';
import { openPortableRepository } from '../../src/git/stores/portable/open-portable-repository.ts';
import type { Repository } from '../../src/git/repository.ts';
import { createTemporaryFolder, expectCleanFsck } from './temporary-repository.ts';

export type MemoryRepository = {
  repository: Repository;
  fs: IFs;
  gitdir: string;
  /** Copies it to a bare repository on a disk, for git; returns the folder. */
  copyToDisk(): string;
};

/** Makes an empty repository in memory. */
export async function createMemoryRepository(now: () => number = () => 1_795_262_400_000): Promise<MemoryRepository> {
  const fs = createFsFromVolume(new Volume());
  fs.mkdirSync('/repository');
  const gitdir = '/repository/.git';
  const repository = await openPortableRepository({ fs, dir: '/repository', create: true, now });
  return { repository, fs, gitdir, copyToDisk: () => copyToDisk(fs, gitdir) };
}

/** Makes an empty repository in memory whose machine-local state is on the disk. It takes no process of git. */
export async function createRepositoryWithState(): Promise<Repository & { stateDir: string }> {
  const { repository } = await createMemoryRepository(Date.now);
  return { ...repository, stateDir: createTemporaryFolder() };
}

/** Fails if git finds a fault in a copy of the repository. */
export function expectCleanMemory(memory: MemoryRepository): void {
  expectCleanFsck(memory.copyToDisk());
}

function copyToDisk(fs: IFs, gitdir: string): string {
  const target = createTemporaryFolder();
  const copy = (from: string, to: string): void => {
    // Without options, readdir returns names.
    for (const name of fs.readdirSync(from) as string[]) {
      const source = `${from}/${name}`;
      const destination = join(to, name);
      if (fs.statSync(source).isDirectory()) {
        mkdirSync(destination);
        copy(source, destination);
      } else writeFileSync(destination, fs.readFileSync(source));
    }
  };
  copy(gitdir, target);
  return target;
}
