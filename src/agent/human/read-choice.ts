/**
 * Finds the word that a person means: as it is written, else without regard to capitals; and, where they are asked just now,
 * by its number in the list or by its beginning, as long as no other one begins so.
 */
export function readChoice(typed: string, words: readonly string[], isAskedNow: boolean): string | undefined {
  const wanted = typed.trim();
  if (wanted === '') return undefined;
  const beginsSo = words.filter((word) => word.toLowerCase().startsWith(wanted.toLowerCase()));
  const alike = beginsSo.filter((word) => word.length === wanted.length);
  if (words.includes(wanted)) return wanted;
  if (alike.length > 0 || !isAskedNow) return onlyOne(alike);
  return (/^\d+$/u.test(wanted) && words[Number(wanted) - 1]) || onlyOne(beginsSo);
}

function onlyOne(words: readonly string[]): string | undefined {
  return words.length === 1 ? words[0] : undefined;
}
