import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import { openRepository } from '../../../src/git/open-repository.ts';
import { mergeTrees, repeatMerge } from '../../../src/git/worktree/merge-trees.ts';
import type { ConflictStage } from '../../../src/git/worktree/tree-merger.ts';
import {
  createTemporaryFolder,
  isolatedGitEnvironment as env,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';
import { copyOf, generateHistory, tryGit } from '../../thread/code/generated-history.ts';

/** How a merge ended. */
export type Ending = { isCompared: boolean; hasConflicts: boolean; isRepeatable: boolean };

/** What git makes of a merge: its tree, and the entries of the index for files with conflicts. */
type GitsMerge = { tree: string; stages: string; hasDriverRun: boolean };

/** Merges the sides of a generated history without a checkout, beside `git merge` in a copy of the repository. */
export async function mergeTreesBesideGit(seed: number): Promise<Ending> {
  const { repository, base, tree } = generateHistory(seed, true);
  const where = `seed ${seed}`;
  const wanted = mergeByGit(copyOf(repository), base, tree);
  const ours = repository.git('rev-parse', 'HEAD');
  const before = stateOf(repository);
  const opened = await openRepository(repository.dir, { env });
  const sides = [parseObjectId(base), parseObjectId(ours)] as const;
  const theirs = parseObjectId(tree);
  const merged = await mergeTrees({ repository: opened, env }, ...sides, theirs);
  expect(stateOf(repository), where).toEqual(before);
  if (wanted !== undefined) {
    expect(merged.tree, where).toBe(wanted.tree);
    expect(formatStages(merged.stages ?? []), where).toBe(wanted.stages);
    expect(merged.isRepeatable, where).toBe(!wanted.hasDriverRun);
    expect(merged.conflicts.length > 0, where).toBe(wanted.stages !== '');
  }
  const told = new Set(merged.conflicts.flatMap(({ paths }) => paths));
  for (const { path } of merged.stages ?? []) expect(told, where).toContain(Buffer.from(path, 'latin1').toString());
  if (merged.isRepeatable) {
    const again = await repeatMerge({ repository: opened, env }, ...sides, [{ key: 'theirs', commit: theirs }]);
    expect([again.tree, again.stages], where).toEqual([merged.tree, merged.stages]);
  }
  merged.release();
  await opened.close();
  const { conflicts, isRepeatable } = merged;
  return { isCompared: wanted !== undefined, hasConflicts: conflicts.length > 0, isRepeatable };
}

/** Merges in a work tree with all files, where no submodule is checked out; `undefined` if git breaks off there. */
function mergeByGit({ dir, git }: TemporaryRepository, base: string, tree: string): GitsMerge | undefined {
  const ran = join(createTemporaryFolder(), 'ran');
  git('sparse-checkout', 'disable');
  for (const path of ['.git/modules', 'sub']) rmSync(join(dir, path), { recursive: true, force: true });
  for (const [name, driver] of Object.entries({ own: 'cat %B >> %A', ours: 'true' })) {
    git('config', `merge.${name}.driver`, `touch ${ran}; ${driver}`);
  }
  git('config', 'merge.renormalize', 'false');
  git('config', 'merge.conflictStyle', 'merge');
  git('branch', 'branch/theirs', git('commit-tree', '-p', base, '-m', 'theirs', tree));
  const { code, said } = tryGit(dir, 'merge', '--no-ff', '--no-edit', 'branch/theirs');
  // git 2.39 gives up in its checkout, after the merge, where a folder has become a file in some ways.
  if (said.includes('BUG: merge-ort.c')) return undefined;
  if (code !== 0 && !said.includes('CONFLICT')) throw new Error(said);
  return {
    tree: git('rev-parse', code === 0 ? 'HEAD^{tree}' : 'AUTO_MERGE'),
    stages: git('ls-files', '--unmerged', '-z'),
    hasDriverRun: existsSync(ran),
  };
}

/** Writes entries as `git ls-files -z` prints them. */
export function formatStages(stages: readonly ConflictStage[]): string {
  const lines = stages.map(({ mode, id, stage, path }) => `${mode} ${id} ${stage}\t${path}\0`);
  return Buffer.from(lines.join(''), 'latin1').toString('utf8');
}

function stateOf({ git }: TemporaryRepository): string[] {
  return [
    git('status', '--porcelain=v2'),
    git('for-each-ref'),
    git('count-objects', '-v'),
    git('ls-files', '-s', '-t'),
  ];
}
