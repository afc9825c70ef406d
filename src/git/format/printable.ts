const MAX_LENGTH = 300;

/** Makes the words of a remote safe for a terminal: removes control characters and limits the length. */
export function printable(text: string): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}\p{Surrogate}]+/gu, ' ').trim();
  return clean.length > MAX_LENGTH ? `${clean.slice(0, MAX_LENGTH)}…` : clean;
}
