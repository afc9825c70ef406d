import type { TakenBranch } from '../../moderator/judge-join.ts';

/** The text of a block's step tells of as many branches; its meta has all. */
const MAX_TOLD = 50;

/** The text of a block's step: what its branches came to, in the order in which they were taken in. */
export function describeBlock(name: string, status: string, taken: readonly TakenBranch[], total: number): string {
  const many = total === 1 ? '1 branch' : `${total} branches`;
  const parts = taken.slice(0, MAX_TOLD).map(({ key, status: said, end }) => {
    const how = said ?? end.outcome;
    const result = end.outcome === 'completed' ? how : `${end.outcome} (${end.returnCode})`;
    return [`## ${key}: ${result}`, ...(end.summary === '' ? [] : [end.summary.trim()])].join('\n\n');
  });
  const left = taken.length - parts.length;
  const more = left > 0 ? [`${left} more branches are in the meta of this step.`] : [];
  return [`${name}: ${status}, ${taken.length} of ${many}`, ...parts, ...more].join('\n\n');
}
