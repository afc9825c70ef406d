const longest = 300;

/** What the other side says, made fit for a terminal: without control characters, and not for ever. */
export function printable(text: string): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}\p{Surrogate}]+/gu, ' ').trim();
  return clean.length > longest ? `${clean.slice(0, longest)}…` : clean;
}
