/** Writes a word as one says it: `a role`, `an agent`. */
export function withArticle(word: string): string {
  return `${/^(?:[aeio]|u(?!ri|rl|ni|se))/i.test(word) ? 'an' : 'a'} ${word}`;
}
