import { orElse } from '../../or-else.ts';
import type { ForeignEntry } from './tree-entries.ts';

/** Far more than a person writes. Git's own limit for `.gitattributes` is 100 MiB. */
export const MAX_SPECIAL_BYTES: number = 1024 * 1024;

/** Git ignores longer lines of attributes, and its fsck reports them. */
const MAX_ATTRIBUTES_LINE = 2048;

/**
 * Returns the fault that `git fsck --strict` would find in a file that git reads, or `undefined`.
 *
 * Refuses more `.gitmodules` than git: also those that may be parsed differently.
 * Source: `fsck_blob` and `fsck_gitmodules_fn` in git's fsck.c, submodule-config.c.
 */
export function faultOfSpecialFile(
  special: NonNullable<ForeignEntry['special']>,
  data: Uint8Array,
): string | undefined {
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('latin1');
  if (special === 'gitmodules') return faultOfModules(text);
  return text.split('\n').some((line) => line.length >= MAX_ATTRIBUTES_LINE)
    ? `it has a line of more than ${MAX_ATTRIBUTES_LINE} bytes`
    : undefined;
}

function faultOfModules(text: string): string | undefined {
  // A backslash at the end of a line joins it with the next line.
  for (const line of text.replaceAll(/\\\r?\n/g, '').split(/\r?\n/)) {
    const section = /^\s*\[\s*submodule(?:\s+"((?:\\.|[^"\\])*)"|\.([^\]]*))\s*\]/i.exec(line);
    if (section !== null) {
      const reason = faultOfName(unescape(section[1] ?? section[2] ?? ''));
      if (reason !== undefined) return reason;
    }
    const pair = /(?:^|\])\s*(url|path|update)\s*=\s*(.*)$/i.exec(line);
    const reason = pair === null ? undefined : faultOfValue((pair[1] ?? '').toLowerCase(), unescape(pair[2] ?? ''));
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function faultOfName(name: string): string | undefined {
  const isFine = name !== '' && !name.split(/[\\/]/).includes('..');
  return isFine ? undefined : `it names a submodule ${JSON.stringify(name)}`;
}

function faultOfValue(key: string, value: string): string | undefined {
  const isFine = key === 'url' ? isUrl(value) : !value.startsWith(key === 'update' ? '!' : '-');
  return isFine ? undefined : `it has the ${key} ${JSON.stringify(value.slice(0, 100))}`;
}

function isUrl(url: string): boolean {
  if (url === '' || url.startsWith('-') || /[\0-\x1f]|%0a|%0d/i.test(url)) return false;
  const rest = url.replace(/^(?:\.{1,2}[\\/]+)+/, '');
  if (rest !== url) return !/^[:/\\]/.test(rest);
  const http = /^(?:[a-z]+::)?((?:https?|ftps?):.*)$/i.exec(url)?.[1];
  if (http === undefined) return true;
  return /^[a-z]+:\/\/[^/]/i.test(http) && orElse(() => new URL(http).hostname, '') !== '';
}

/** Removes quotes, escapes and a comment from a value of a configuration file. Source: git-config(1), "Syntax". */
function unescape(text: string): string {
  let value = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '\\') {
      at += 1;
      const escaped = text.charAt(at);
      value += { n: '\n', t: '\t', b: '\b' }[escaped] ?? escaped;
    } else if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (character === '#' || character === ';')) break;
    else value += character;
  }
  return value.trim();
}
