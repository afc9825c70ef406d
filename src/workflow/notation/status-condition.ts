/**
 * The condition that a graph's edge for a status amounts to: the last step reported it.
 *
 * The text is part of stored definitions, and so of their hashes: it must not change.
 */
export function statusCondition(status: string): string {
  // A JSON string is a JSONata string; plain quotes are kept for usual statuses.
  const literal = /^[\w $.:/-]*$/.test(status) ? `'${status}'` : JSON.stringify(status);
  return `$steps[-1].meta.\`$status\` = ${literal}`;
}

/** The statuses with which a condition holds, or (`isNegated`) those with which it does not. */
export type AskedStatuses = { statuses: string[]; isNegated: boolean };

const literal = /'(?:[^'\\])*'|"(?:[^"\\])*"/.source;
const lastStatus = /\$steps\[-1\]\s*\.\s*(?:(?:meta|output)\s*\.\s*`\$status`|status)/.source;
const roleStatus = new RegExp(`\\$last\\((${literal})\\)\\s*\\.\\s*\`\\$status\``).source;
const comparison = new RegExp(`^(?:${lastStatus}|${roleStatus})\\s*(?<operator>!?=)\\s*(?<literal>${literal})$`);
const membership = new RegExp(
  `^(?:${lastStatus}|${roleStatus})\\s+in\\s+\\[(?<list>\\s*${literal}(?:\\s*,\\s*${literal})*\\s*)\\]$`,
);

/**
 * Recognises the usual conditions that depend only on the status of the last step: `=`, `!=` or `in [..]`
 * on `` $steps[-1].meta.`$status` ``, `$steps[-1].status` or `` $last('role').`$status` ``.
 * @param role the role the rule leads on from, whose last step is the last step
 * @returns `undefined` for every other condition: only its evaluation can tell
 */
export function askedStatuses(when: string, role: string): AskedStatuses | undefined {
  const text = when.trim();
  const match = comparison.exec(text) ?? membership.exec(text);
  if (match === null) return undefined;
  const named = match[1];
  if (named !== undefined && named.slice(1, -1) !== role) return undefined;
  const { operator, literal: one, list } = match.groups ?? {};
  const literals = [...(one ?? list ?? '').matchAll(new RegExp(literal, 'g'))];
  return { statuses: literals.map(([text]) => text.slice(1, -1)), isNegated: operator === '!=' };
}
