import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { parseRefName } from '../../git/format/refs.ts';
import type { RefName } from '../../git/ref-store.ts';
import { linkedWorkTrees, mainWorkTree, relink } from '../../git/repository/work-trees.ts';
import { tryTo } from '../../or-else.ts';
import { realPath } from '../../git/repository/git-directory.ts';
import type { GitPlace } from '../../git/process/run-git.ts';
import type { GitEnvironment, Repository, RepositoryLocation } from '../../git/repository.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Config } from '../config/config.ts';

/** What the work trees of threads are found by. */
export type WorkTreesContext = {
  repository: Repository;
  config: Pick<Config, 'isolation' | 'snapshot'>;
  env: GitEnvironment;
  /** The folder for them, absolute; absent: threads have none. */
  workTrees: string | undefined;
};

/**
 * The folder of the work trees of a repository's threads, outside of its own folders: below the work tree Node finds the wrong
 * `node_modules`, below `.git` tools refuse to work.
 *
 * @throws {UwfError} `no-place-for-work-trees` if the program that embeds uwf names none, or there is no disk
 */
export function workTreesFolder({ repository, config, workTrees }: Omit<WorkTreesContext, 'env'>): string {
  const { location } = repository;
  const all = config.isolation?.folder ?? workTrees;
  if (location === undefined || all === undefined) {
    throw new UwfError('there is no folder for the work trees of threads', {
      code: 'no-place-for-work-trees',
      kind: 'usage',
      hint: "a program names one with 'workTrees' of its engine, a configuration with 'isolation.folder'",
    });
  }
  return join(all, nameOf(location));
}

/** The folder of a thread's own work tree. Its name is the same on every call. */
export function workTreeFolder(engine: Parameters<typeof workTreesFolder>[0], thread: ThreadId): string {
  return join(workTreesFolder(engine), thread);
}

/** Puts back the `.git` of a thread's work tree that an agent removed, so that its files can be recorded. */
export function relinkOwnTree(engine: Parameters<typeof workTreesFolder>[0], thread: ThreadId): void {
  const { location } = engine.repository;
  if (location === undefined) return;
  const top = realPath(workTreeFolder(engine, thread));
  const own = linkedWorkTrees(location).find((tree) => tree.top === top);
  if (own !== undefined) tryTo(() => relink(own));
}

/** A name for people, and a digest, because two repositories can have one name. */
function nameOf({ commonDir }: RepositoryLocation): string {
  const path = realPath(commonDir);
  const name = basename(mainWorkTree({ commonDir }) ?? path).replace(/\.git$/, '') || basename(dirname(path));
  return `${name}-${createHash('sha256').update(path).digest('hex').slice(0, 8)}`;
}

/** Names for the branch of a thread's work tree, the shortest first; the last one where a branch `uwf` leaves no room below it. */
export function branchNames(workflow: string, thread: ThreadId): RefName[] {
  const id = thread.toLowerCase();
  const names = [...[6, 10, 26].map((length) => `uwf/${workflow}-${id.slice(-length)}`), `uwf-${workflow}-${id}`];
  return names.map((name) => parseRefName(`refs/heads/${name}`));
}

/** The place where git works on the repository itself. */
export function gitPlace({ repository, env }: Pick<WorkTreesContext, 'repository' | 'env'>): GitPlace {
  if (repository.location !== undefined) return { location: repository.location, env };
  throw new UwfError('the repository is not on a disk', { code: 'no-place-for-files', kind: 'usage' });
}
