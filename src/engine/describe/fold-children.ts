import type { ChildView } from './describe-children.ts';

/** A key that uwf makes for a call ends in a hash, and tells a person nothing. */
const MADE_KEY = / [0-9A-HJKMNP-TV-Z]{13}$/;

/** The key that an agent or a block gave a call; '' for other calls. */
export function ownKey(key: string): string {
  return MADE_KEY.test(key) ? '' : key;
}

/** Whether a child has neither ended nor been cancelled: a person may want to look at it. */
function mayMatter({ status }: ChildView): boolean {
  return status !== 'ended' && status !== 'cancelled';
}

/**
 * Folds a list of children for a person: the first of those that have not simply ended, then others, and how many of the rest have
 * each status, such as `980 ended`.
 */
export function foldChildren(calls: readonly ChildView[], most: number): { shown: readonly ChildView[]; rest: string } {
  if (calls.length <= most) return { shown: calls, rest: '' };
  const inOrder = [...calls.filter(mayMatter), ...calls.filter((child) => !mayMatter(child))];
  const counts = new Map<string, number>();
  for (const { status } of inOrder.slice(most)) counts.set(status, (counts.get(status) ?? 0) + 1);
  return { shown: inOrder.slice(0, most), rest: [...counts].map(([status, count]) => `${count} ${status}`).join(', ') };
}
