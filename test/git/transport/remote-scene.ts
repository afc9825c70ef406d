import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openRemote } from '../../../src/git/transport/open-remote.ts';
import type { RemoteSide } from '../../contracts/remote-fixture.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

/** A side together with the folder it lies in. */
export type NativeSide = RemoteSide & TemporaryRepository;

/**
 * Makes an empty repository with the remote `origin`.
 *
 * @param env what git gets beside the isolated environment
 */
export async function connectTo(url: string, env: Readonly<Record<string, string>> = {}): Promise<NativeSide> {
  const local = createTemporaryRepository();
  local.git('remote', 'add', 'origin', url);
  const repository = await local.open();
  const remote = await openRemote(repository, 'origin', { env: { ...isolatedGitEnvironment, ...env } });
  return {
    ...local,
    repository,
    remote,
    files: () => filesIn(join(local.dir, '.git')),
    expectSound: () => expectCleanFsck(local.dir),
  };
}

/** Every file below a folder, and every folder that is empty; the folder in which guests are received need not go. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => {
      const path = join(folder, name);
      return statSync(path).isFile() || (readdirSync(path).length === 0 && !/^uwf(\/incoming)?$/.test(name));
    })
    .toSorted();
}

/** How much a count has grown since it was asked for last. */
export function counterOf(total: () => number): () => number {
  let before = 0;
  return () => {
    const now = total();
    const grown = now - before;
    before = now;
    return grown;
  };
}
