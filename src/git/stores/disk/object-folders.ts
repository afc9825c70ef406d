import type { GitEnvironment } from '../../repository.ts';
import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { orElse } from '../../../or-else.ts';
import { readIfThere } from '../../repository/git-directory.ts';

/** How deep git follows alternates of alternates (`link_alt_odb_entries` in object-file.c). */
const MAX_ALTERNATE_DEPTH = 5;

/**
 * The object folders of a repository: its own first, then its alternates, each once.
 *
 * Honours `GIT_OBJECT_DIRECTORY`, `GIT_ALTERNATE_OBJECT_DIRECTORIES` and `info/alternates`, the last recursively. An
 * alternate that does not exist is left out, as git does.
 * Source: gitrepository-layout(5), git(1).
 */
export function findObjectFolders(commonDir: string, env: GitEnvironment): string[] {
  const moved = env['GIT_OBJECT_DIRECTORY'];
  const own = moved === undefined || moved === '' ? join(commonDir, 'objects') : resolve(moved);
  const found = new Set([own]);
  for (const path of splitPaths(env['GIT_ALTERNATE_OBJECT_DIRECTORIES'] ?? '', ':')) {
    addAlternate(resolve(path), 0, found);
  }
  addAlternatesOf(own, 0, found);
  return [...found];
}

function addAlternatesOf(folder: string, depth: number, found: Set<string>): void {
  if (depth > MAX_ALTERNATE_DEPTH) return;
  const text = readIfThere(join(folder, 'info', 'alternates')) ?? '';
  for (const path of splitPaths(text, '\n')) {
    addAlternate(resolve(folder, path), depth, found);
  }
}

function addAlternate(path: string, depth: number, found: Set<string>): void {
  const folder = orElse(() => realpathSync(path), undefined);
  if (folder === undefined || found.has(folder)) return;
  found.add(folder);
  addAlternatesOf(folder, depth + 1, found);
}

/** Splits a list of paths; a path may be quoted as in C, and a line that starts with `#` is a comment. */
function splitPaths(text: string, separator: ':' | '\n'): string[] {
  const paths: string[] = [];
  let rest = text;
  while (rest !== '') {
    const quoted = /^"((?:[^"\\]|\\[^])*)"/.exec(rest);
    const end = rest.indexOf(separator, quoted?.[0].length ?? 0);
    const plain = end === -1 ? rest : rest.slice(0, end);
    rest = end === -1 ? '' : rest.slice(end + 1);
    if (plain === '' || plain.startsWith('#')) continue;
    paths.push(quoted === null ? plain : unquote(quoted[1] ?? ''));
  }
  return paths;
}

const escapes: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Undoes git's C-style quoting. Octal escapes are bytes of UTF-8. Source: git's quote.c. */
function unquote(text: string): string {
  const bytes = text.replaceAll(/\\([0-3][0-7]{2}|[^])|([^\\]+)/g, (_, escape?: string, plain?: string) => {
    if (plain !== undefined) return Buffer.from(plain, 'utf8').toString('latin1');
    const character = escape ?? '';
    return character.length === 3
      ? String.fromCharCode(Number.parseInt(character, 8))
      : (escapes[character] ?? character);
  });
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
