/** The beginning of a text, no longer than `maxCharacters`, without half a character at its end. */
export function cutText(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : text.slice(0, maxCharacters).replace(/[\uD800-\uDBFF]$/u, '');
}
