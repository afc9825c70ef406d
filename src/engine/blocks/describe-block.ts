import type { MergeConflict } from '../../git/worktree/merge-trees.ts';
import type { TakenBranch } from '../../moderator/judge-join.ts';

/** The text of a block's step tells of as many branches; its meta has all. */
const MAX_TOLD = 50;

/** What a block came to. */
type BlockOutcome = { taken: readonly TakenBranch[]; total: number; conflicts: readonly MergeConflict[] };

/** What a block waits for: the question of each branch, under its key where there are several. */
export function describeWaiting(waiting: readonly { key: string; reason: string }[]): string {
  const lines = waiting.map(({ key, reason }) => `${key}: ${reason}`).toSorted();
  return lines.length === 1 ? lines.join() : [`${lines.length} branches wait:`, ...lines].join('\n');
}

/** The text of a block's step: what its branches came to, in the order in which they were taken in. */
export function describeBlock(name: string, status: string, { taken, total, conflicts }: BlockOutcome): string {
  const many = total === 1 ? '1 branch' : `${total} branches`;
  const parts = taken.slice(0, MAX_TOLD).map(({ key, status: said, end }) => {
    const how = said ?? end.outcome;
    const result = end.outcome === 'completed' ? how : `${end.outcome} (${end.returnCode})`;
    return [`## ${key}: ${result}`, ...(end.summary === '' ? [] : [end.summary.trim()])].join('\n\n');
  });
  const left = taken.length - parts.length;
  const more = left > 0 ? [`${left} more branches are in the meta of this step.`] : [];
  const lines = conflicts
    .slice(0, MAX_TOLD)
    .map(({ path, message, keys }) => `- ${path} (${keys.join(', ')}): ${message}`);
  const marked = 'The files have the conflicts marked in them. What the next role leaves is the merge.';
  const merge = lines.length === 0 ? [] : ['## Conflicts', marked, lines.join('\n')];
  return [`${name}: ${status}, ${taken.length} of ${many}`, ...parts, ...more, ...merge].join('\n\n');
}
