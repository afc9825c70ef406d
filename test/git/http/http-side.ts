import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openHttpRemote } from '../../../src/git/http/open-http-remote.ts';
import type { HttpRemoteOptions } from '../../../src/git/http/open-http-remote.ts';
import type { RemoteSide } from '../../contracts/remote-fixture.ts';
import { createMemoryRepository, expectCleanMemory } from '../../helpers/memory-repository.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../helpers/temporary-repository.ts';

type Folder = { readdirSync(path: string): unknown; statSync(path: string): { isFile(): boolean } };

/** Makes an empty repository on disk that knows the server. */
export async function connectFromDisk(
  url: string,
  options: Partial<HttpRemoteOptions> = {},
): Promise<RemoteSide & TemporaryRepository> {
  const local = createTemporaryRepository();
  const repository = await local.open();
  return {
    ...local,
    repository,
    remote: openHttpRemote(repository, { name: 'origin', url, isConfigured: true, ...options }),
    files: () => filesIn({ readdirSync, statSync }, join(local.dir, '.git')),
    expectSound: () => expectCleanFsck(local.dir),
  };
}

/** Makes an empty repository in memory that knows the server. */
export async function connectFromMemory(url: string): Promise<RemoteSide> {
  const memory = await createMemoryRepository();
  return {
    repository: memory.repository,
    remote: openHttpRemote(memory.repository, { name: 'origin', url, isConfigured: true }),
    files: () => filesIn(memory.fs, memory.gitdir),
    expectSound: () => expectCleanMemory(memory),
  };
}

function filesIn(fs: Folder, folder: string): string[] {
  // Asked for no more, readdir gives names.
  return (fs.readdirSync(folder) as string[]).toSorted().flatMap((name) => {
    const path = `${folder}/${name}`;
    return fs.statSync(path).isFile() ? [path] : filesIn(fs, path);
  });
}
