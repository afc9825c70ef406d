/** Escapes that end in a letter or a digit: of JSON, of URLs, and the colours of a terminal. */
const escapeBefore =
  /(?:\\[nrtbf]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|(?:\u001b|\\u001b|\\x1b|\\033|\\e)\[[\d;]{0,12}[A-Za-z])$/u;

/**
 * Tells whether a word begins at a place: no letter or mark is in front of it, or only as the end of an escape.
 *
 * @param isDistinct it cannot be a part of a random text, so a digit, `-` or `_` may be in front of it
 */
export function isWordStart(text: string, at: number, isDistinct: boolean): boolean {
  if (at === 0) return true;
  const code = text.charCodeAt(at - 1);
  if (code === 0x203a) return false;
  const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
  // Digests in base64url have `-` and `_` in them.
  const isJoint = code === 95 || code === 45;
  if (!isLetter && (isDistinct || !(isJoint || (code >= 48 && code <= 57)))) return true;
  return !isJoint && escapeBefore.test(text.slice(Math.max(0, at - 24), at));
}
