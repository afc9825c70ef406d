import { createHash } from 'node:crypto';

const plain = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const MAX_LENGTH = 200;
const kept = 160;

/**
 * Turns a name from outside (a role, a tool) into one component of a path that every file system and git accept.
 *
 * A name that matches `[a-z0-9][a-z0-9._-]{0,63}` is itself. In any other, each byte of its UTF-8 that is not one of
 * `a-z 0-9 . _ -`, and a first byte that is one of `. _ -`, becomes `%` and two upper-case hexadecimal digits; an empty
 * name becomes `%`. So no two names that differ, be it only in case, share a path. What is then longer than 200
 * characters is cut to 160, followed by `%_` and the first 16 hexadecimal digits of the name's SHA-256.
 */
export function pathName(name: string): string {
  if (plain.test(name)) return name;
  if (name === '') return '%';
  const encoded = [...Buffer.from(name)].map(encodeByte).join('');
  if (encoded.length <= MAX_LENGTH) return encoded;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 16);
  // An escape that the cut would split goes as a whole.
  return `${encoded.slice(0, kept).replace(/%[0-9A-F]?$/, '')}%_${digest}`;
}

function encodeByte(byte: number, position: number): string {
  const character = String.fromCharCode(byte);
  const isPlain = position === 0 ? /[a-z0-9]/.test(character) : /[a-z0-9._-]/.test(character);
  return isPlain ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}
