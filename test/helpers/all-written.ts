import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runGit } from './temporary-repository.ts';

/**
 * Returns everything in a repository, by its place: every git object, reachable or not, the messages of all commits, and
 * every file that uwf keeps on this machine.
 */
export function allWritten(dir: string): Map<string, string> {
  const written = new Map<string, string>();
  written.set('git log --all -p', runGit(dir, ['log', '--all', '-p', '-m', '--root', '--text']));
  const ids = runGit(dir, ['cat-file', '--batch-all-objects', '--batch-check=%(objectname) %(objecttype)']);
  written.set('objects', runGit(dir, ['cat-file', '--batch'], ids.replaceAll(/ \w+$/gmu, '')));
  const state = join(dir, '.git', 'uwf');
  for (const entry of readdirSync(state, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    written.set(`the name ${path}`, entry.name);
    if (entry.isFile()) written.set(path, readFileSync(path, 'latin1'));
  }
  return written;
}

/** All that refs of a repository lead to, as text. */
export function reachable(dir: string): string {
  const ids = runGit(dir, ['rev-list', '--objects', '--all']).trim().split('\n');
  return runGit(dir, ['cat-file', '--batch'], ids.map((line) => `${line.split(' ')[0]}\n`).join(''));
}

/** The encodings in which stored data can contain a value. */
export function formsOf(value: string): Record<string, string> {
  return {
    plain: value,
    base64: Buffer.from(value).toString('base64'),
    base64url: Buffer.from(value).toString('base64url'),
    url: encodeURIComponent(value),
    'JSON escapes': value
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
    JSON: JSON.stringify(value).slice(1, -1),
    'JSON in JSON': JSON.stringify(JSON.stringify(value)).slice(3, -3),
    'URL twice': encodeURIComponent(encodeURIComponent(value)),
    hexadecimal: Buffer.from(value).toString('hex'),
    'base64 of JSON': Buffer.from(JSON.stringify({ v: value })).toString('base64'),
    'base64 in lines': Buffer.from(value).toString('base64').replace(/.{20}/gu, '$&\n'),
    'base64 in lines of Windows': Buffer.from(value).toString('base64').replace(/.{16}/gu, '$&\r\n'),
  };
}

/** The places that contain one of these values in any encoding. */
export function placesOf(values: readonly string[], written: ReadonlyMap<string, string>): string[] {
  const places: string[] = [];
  for (const value of values) {
    for (const [form, text] of Object.entries(formsOf(value))) {
      for (const [place, content] of written)
        if (content.includes(text)) places.push(`${value} as ${form} in ${place}`);
    }
  }
  return places;
}
