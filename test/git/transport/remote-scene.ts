import { readdirSync, statSync, writeFileSync } from 'node:fs';
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
 * @param refPrefix the prefix of uwf's refs there
 */
export async function connectTo(
  url: string,
  env: Readonly<Record<string, string>> = {},
  refPrefix?: string,
): Promise<NativeSide> {
  const local = createTemporaryRepository();
  local.git('remote', 'add', 'origin', url);
  if (refPrefix !== undefined) local.git('config', 'remote.origin.uwfPrefix', refPrefix);
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

/** Makes a bare repository refuse every ref that is neither a branch nor a tag. */
export function takeOnlyBranches({ dir }: TemporaryRepository): void {
  const hook = '#!/bin/sh\ncase "$1" in refs/heads/*|refs/tags/*) ;; *) echo "only branches and tags"; exit 1;; esac\n';
  writeFileSync(join(dir, 'hooks/update'), hook, { mode: 0o755 });
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
