/**
 * Splits the reason with which a turn waits for a permission: what would be done, and how to allow it for good. `undefined` for
 * another text.
 */
export function splitPermission(reason: string): { deed: string; howTo: string } | undefined {
  // The agent's words of the deed can contain the words that uwf adds, so the last of these are looked for.
  const [, deed, howTo] =
    /^.*? asks for a permission: ([^]*)(?:;|\n) ?(answer it with yes or no[^]*)$/u.exec(reason) ?? [];
  return deed === undefined || howTo === undefined ? undefined : { deed, howTo };
}
