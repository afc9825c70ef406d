import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readingContext } from '../../src/engine/engine-context.ts';
import { prepareHashing } from '../../src/cas/hash.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import type { Repository } from '../../src/git/repository.ts';
import { syncThreads } from '../../src/sync/push-threads.ts';
import { createTemporaryFolder, isolatedGitEnvironment, runGit } from '../helpers/temporary-repository.ts';
import { act, createLedger, type Action, type Clone, type Ledger } from './clones.ts';

/** A folder with two clones of `server.git` that have come apart in every way there is; `ada` has synced already. */
export type TornClones = {
  dir: string;
  ledger: Ledger;
  /** Copies it, to be used up. */
  copy(): string;
};

const env = isolatedGitEnvironment;

/** Opens one of the clones, and its way to the server. */
export async function openClone(dir: string, name: string, now?: () => number): Promise<Clone> {
  const opened = await openRepository(join(dir, name));
  const committer = { name, email: `${name}@example.com` };
  const repository: Repository = { ...opened, committer, ...(now && { now }) };
  return { repository, remote: await openRemote(repository, 'origin', { env }) };
}

/** Syncs one of the clones as a command would. */
export async function syncClone(dir: string, name: string): Promise<ReturnType<typeof syncThreads>> {
  const { repository, remote } = await openClone(dir, name);
  try {
    return await syncThreads(readingContext(repository), remote);
  } finally {
    await repository.close();
  }
}

/** @param url where the clones find the server; default: beside them */
export async function tearClones(url = '../server.git'): Promise<TornClones> {
  await prepareHashing();
  const dir = createTemporaryFolder();
  for (const name of ['server.git', 'ada', 'ben']) {
    mkdirSync(join(dir, name));
    runGit(join(dir, name), ['init', '--quiet', '--initial-branch=main', ...(name === 'server.git' ? ['--bare'] : [])]);
    if (name !== 'server.git') runGit(join(dir, name), ['remote', 'add', 'origin', url]);
  }
  let clockMs = Date.parse('2026-11-21T12:00:00Z');
  const now = (): number => (clockMs += 60_000);
  const [ada, ben] = [await openClone(dir, 'ada', now), await openClone(dir, 'ben', now)];
  const ledger = createLedger();
  const play = async (clone: Clone, ...steps: (readonly [Action['kind'], number])[]): Promise<void> => {
    for (const [kind, pick] of steps) await act(clone, { clone: 0, kind, pick }, ledger);
  };
  await play(ada, ['register', 1], ...Array.from({ length: 6 }, () => ['start', 0] as const));
  await play(ada, ...Array.from({ length: 6 }, (_, pick) => ['append', pick] as const), ['sync', 0]);
  await play(ben, ['fetch', 0]);
  // Both go on with the first, Ada with the second, Ben with the third; Ada ends the fourth, Ben the fifth, each while
  // the other one goes on with it; Ada removes the sixth everywhere, and everybody starts something of his own.
  await play(ada, ['append', 0], ['append', 1], ['append', 4], ['end', 3], ['remove there', 5], ['start', 0]);
  await play(ada, ['register', 2], ['sync', 0]);
  await play(ben, ['append', 0], ['append', 2], ['append', 3], ['end', 4], ['start', 0], ['register', 3]);
  for (const { repository } of [ada, ben]) await repository.close();
  return {
    dir,
    ledger,
    copy() {
      const to = createTemporaryFolder();
      cpSync(dir, to, { recursive: true });
      return to;
    },
  };
}
