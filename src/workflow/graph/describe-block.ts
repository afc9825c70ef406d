import type { BlockDefinition, BranchDefinition, JoinDefinition } from '../definition.ts';

/** A branch of a block as people read it; an `each` is one. */
export type DescribedBranch = {
  /** The key, or `each phase`. */
  name: string;
  /** `workflow review`, `role critic`, and how many run at once. */
  what: string;
};

/** The branches of a block, in the order of the file. */
export function describeBranches({ branches = {}, each }: BlockDefinition): DescribedBranch[] {
  const fixed = Object.entries(branches).map(([name, branch]) => ({ name, what: describeTask(branch) }));
  if (each === undefined) return fixed;
  const atOnce = each.atOnce === undefined ? '' : `, ${each.atOnce} at once`;
  return [{ name: `each ${each.as}`, what: `${describeTask(each)}${atOnce}` }];
}

function describeTask({ workflow, role }: BranchDefinition): string {
  return workflow === undefined ? `role ${role}` : `workflow ${workflow}`;
}

/** `3 branches, join all, isolation worktree, merged in the order of their keys`. */
export function sayBlock(block: BlockDefinition): string {
  const { branches = {}, each, join, onFailure, isolation, merge } = block;
  const count = Object.keys(branches).length;
  return [
    each ? `a branch for each ${each.as}` : count === 1 ? '1 branch' : `${count} branches`,
    `join ${describeJoin(join)}`,
    ...(onFailure === 'cancel' ? ['cancels the rest on failure'] : []),
    ...(isolation ? [`isolation ${isolation}`] : []),
    ...(merge ? [`merged in the order of their ${merge.order}s`] : []),
  ].join(', ');
}

function describeJoin(join: JoinDefinition): string {
  return typeof join === 'object' ? `at least ${join.atLeast}` : join.replaceAll(/\s+/g, ' ').trim();
}

/** The first of many lines, and how many more there are. */
export function foldBranches(lines: readonly string[], most: number): string[] {
  // A single line more takes no more room than the line that would count it.
  if (lines.length <= most + 1) return [...lines];
  return [...lines.slice(0, most), `… and ${lines.length - most} more`];
}
