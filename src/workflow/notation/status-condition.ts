/**
 * The condition that a graph's edge for a status amounts to: the last step reported it.
 *
 * The text is part of stored definitions, and so of their hashes: it must not change.
 */
export function statusCondition(status: string): string {
  // A JSON string is a JSONata string; the plain quotes are kept for what everybody writes.
  const literal = /^[\w $.:/-]*$/.test(status) ? `'${status}'` : JSON.stringify(status);
  return `$steps[-1].meta.\`$status\` = ${literal}`;
}
