import { orElse } from '../../or-else.ts';
import { CorruptObject, UnwritableObject } from './object-errors.ts';
import { hashObject, isObjectId } from './object-id.ts';
import type { ObjectFormat, ObjectId } from './object-id.ts';

/** Author or committer, and the time; `atMs` is in ms since 1970, and git stores whole seconds. */
export type Signature = { name: string; email: string; atMs: number };

/** A commit as uwf writes and reads it. */
export type Commit = {
  tree: ObjectId;
  parents: ObjectId[];
  author: Signature;
  committer: Signature;
  message: string;
};

/**
 * Encodes a commit so that it passes `git fsck --strict`.
 *
 * Dates are written in UTC, whole seconds. Names and addresses lose what git forbids in them (`<`, `>`, line ends, other
 * control characters). The message loses NULs and gains a final newline where it has none; an empty message stays empty.
 * @throws {UnwritableObject} if a date lies before 1970 or is no number
 * Source: git's `fsck_ident` and `fsck_commit` (fsck.c), `strbuf_addstr_without_crud` (ident.c).
 */
export function encodeCommit(commit: Commit): Uint8Array {
  const message = commit.message.replaceAll('\0', '');
  const lines = [
    `tree ${commit.tree}`,
    ...commit.parents.map((parent) => `parent ${parent}`),
    `author ${encodeSignature(commit.author)}`,
    `committer ${encodeSignature(commit.committer)}`,
    '',
    message === '' || message.endsWith('\n') ? message : `${message}\n`,
  ];
  return Buffer.from(lines.join('\n'));
}

/** Writes an author or a committer as a commit has it, without the keyword. @throws as {@link encodeCommit} */
export function encodeSignature(signature: Signature): string {
  const seconds = Math.floor(signature.atMs / 1000);
  if (!Number.isSafeInteger(seconds) || seconds < 0) {
    throw new UnwritableObject(`a commit cannot carry the time ${signature.atMs} ms`);
  }
  return `${clean(signature.name) || 'unknown'} <${clean(signature.email)}> ${seconds} +0000`;
}

function clean(text: string): string {
  return text.replace(/[\p{Cc}<>]+/gu, ' ').replace(/^[\s.,:;"'\\]+|[\s.,:;"'\\]+$/g, '');
}

/** Reads the lines of author and committer of any commit, as {@link encodeSignature} writes them; `undefined` without one. */
export function signatureLines(data: Uint8Array): { author: string | undefined; committer: string | undefined } {
  const [headers = ''] = utf8.decode(data).split('\n\n', 1);
  const valueOf = (key: string): string | undefined =>
    headers
      .split('\n')
      .find((line) => line.startsWith(`${key} `))
      ?.slice(key.length + 1);
  return { author: valueOf('author'), committer: valueOf('committer') };
}

/**
 * Reads any commit. Headers that uwf does not write (gpgsig, mergetag …) are ignored, the message is decoded by the
 * `encoding` header, and of a malformed signature the readable part is returned.
 *
 * @param format that of its repository
 * @throws {CorruptObject} if tree, author or committer is not there or an id is none
 */
export function parseCommit(data: Uint8Array, format: ObjectFormat = 'sha1'): Commit {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const corrupt = (reason: string): CorruptObject =>
    new CorruptObject(hashObject({ type: 'commit', data }, format), reason);
  const blank = bytes.indexOf('\n\n');
  const headEnd = blank === -1 ? bytes.length : blank;
  const parents: ObjectId[] = [];
  const headers = new Map<string, string>();
  let encoding: string | undefined;
  for (const line of bytes.toString('latin1', 0, headEnd).split('\n')) {
    // A line that starts with a space continues the header before it; the headers that are kept here have one line.
    if (line.startsWith(' ')) continue;
    const space = line.indexOf(' ');
    const key = line.slice(0, space);
    const value = line.slice(space + 1);
    if (key === 'encoding') encoding = value;
    if (key === 'parent') {
      if (!isObjectId(value)) throw corrupt('a parent is not an object id');
      parents.push(value);
    } else if (!headers.has(key)) headers.set(key, value);
  }
  const tree = headers.get('tree');
  const author = headers.get('author');
  const committer = headers.get('committer');
  if (tree === undefined || !isObjectId(tree)) throw corrupt('it has no tree');
  if (author === undefined || committer === undefined) throw corrupt('author or committer is not there');
  const decoder = decoderFor(encoding);
  const decode = (text: Uint8Array): string => decoder.decode(text);
  return {
    tree,
    parents,
    author: parseSignature(decode(Buffer.from(author, 'latin1'))),
    committer: parseSignature(decode(Buffer.from(committer, 'latin1'))),
    message: blank === -1 ? '' : decode(bytes.subarray(blank + 2)),
  };
}

function parseSignature(text: string): Signature {
  const open = text.indexOf('<');
  const close = text.lastIndexOf('>');
  if (open === -1 || close < open) return { name: text.trim(), email: '', atMs: 0 };
  const seconds = Number.parseInt(text.slice(close + 1), 10);
  return {
    name: text.slice(0, open).trim(),
    email: text.slice(open + 1, close),
    atMs: Number.isSafeInteger(seconds * 1000) ? seconds * 1000 : 0,
  };
}

// Shared, because a decoder holds memory outside of JavaScript until it is collected.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

function decoderFor(encoding: string | undefined): InstanceType<typeof TextDecoder> {
  if (encoding === undefined) return utf8;
  // Of an encoding that Node does not know, the readable part of the message is shown.
  return orElse(() => new TextDecoder(encoding, { ignoreBOM: true }), utf8);
}
