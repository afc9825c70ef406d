import { createHash, randomBytes } from 'node:crypto';

import type { SecretMatch } from '../secret-match.ts';
import type { Allowed } from '../redactor.ts';

/** The hash that names a value in an allow-list, which others may read: `<salt>:<SHA-256 of salt and value>`, in hexadecimal. */
export function allowHashOf(value: string, salt: string = randomBytes(8).toString('hex')): string {
  return `${salt}:${createHash('sha256').update(salt).update('\0').update(value).digest('hex')}`;
}

/** Findings that the configuration declares to be no secrets. */
export class AllowList {
  readonly #places: { rule: string; path: RegExp }[] = [];
  readonly #hashes: { salt: string; hash: string }[] = [];

  constructor(allow: readonly Allowed[]) {
    for (const entry of allow) {
      if ('hash' in entry) this.#hashes.push({ salt: entry.hash.slice(0, entry.hash.indexOf(':')), hash: entry.hash });
      else this.#places.push({ rule: entry.rule, path: patternOf(entry.path) });
    }
  }

  without(matches: SecretMatch[], text: string, path: string | undefined): SecretMatch[] {
    if (this.#places.length === 0 && this.#hashes.length === 0) return matches;
    return matches.filter(({ rule, start, end, secret = text.slice(start, end) }) => {
      if (path !== undefined && this.#places.some((place) => place.rule === rule && place.path.test(path)))
        return false;
      return !this.#hashes.some(({ salt, hash }) => allowHashOf(secret, salt) === hash);
    });
  }
}

/** `*` is anything in a name, `**` also folders, `?` one character. */
function patternOf(glob: string): RegExp {
  const source = glob.replaceAll(/\*\*\/?|[*?]|[.+^${}()|[\]\\/]/g, (part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    return part === '?' ? '[^/]' : `\\${part}`;
  });
  return new RegExp(`^${source}$`, 'su');
}
