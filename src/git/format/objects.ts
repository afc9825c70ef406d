import { isWellFormed } from '../../text/wording.ts';
import { orElse } from '../../or-else.ts';
import { CorruptObject, UnwritableObject } from './errors.ts';
import { hashObject, isObjectId, type ObjectFormat, type ObjectId, objectIdBytes } from './object-id.ts';
import { isDotGit } from './paths.ts';

/** Author or committer, and the time; `atMs` is in ms since 1970, and git stores whole seconds. */
export type Signature = { name: string; email: string; atMs: number };

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

/** File, executable, symbolic link, folder, and commit of a submodule. */
export type TreeMode = '100644' | '100755' | '120000' | '040000' | '160000';

/** One line of a tree: `name` is one path component. */
export type TreeEntry = { mode: TreeMode; name: string; id: ObjectId };

/**
 * Encodes a tree as git stores it, in git's order (bytes, folders compared as if they ended in `/`).
 * @throws {UnwritableObject} for a name that is empty, holds `/` or NUL, is `.`, `..` or a name that a file system treats as
 * `.git`, or occurs twice
 * Source: git's `base_name_compare` (read-cache.c) and `fsck_tree` (fsck.c).
 */
export function encodeTree(entries: readonly TreeEntry[]): Uint8Array {
  const names = new Set<string>();
  const lines = entries.map((entry) => {
    const reason = whyForbidden(entry.name);
    if (reason !== undefined) {
      throw new UnwritableObject(`the tree entry ${JSON.stringify(entry.name)} ${reason}`);
    }
    if (names.has(entry.name)) {
      throw new UnwritableObject(`the tree entry ${JSON.stringify(entry.name)} is there twice`);
    }
    names.add(entry.name);
    const isFolder = entry.mode === '040000';
    return {
      key: Buffer.from(isFolder ? `${entry.name}/` : entry.name),
      // Git writes modes without leading zeros; a zero there fails `fsck --strict`.
      head: Buffer.from(`${isFolder ? '40000' : entry.mode} ${entry.name}\0`),
      id: Buffer.from(entry.id, 'hex'),
    };
  });
  lines.sort((a, b) => Buffer.compare(a.key, b.key));
  return Buffer.concat(lines.flatMap((line) => [line.head, line.id]));
}

const modes: ReadonlyMap<string, TreeMode> = new Map([
  ['100644', '100644'],
  ['100755', '100755'],
  ['120000', '120000'],
  ['40000', '040000'],
  ['160000', '160000'],
]);

/**
 * Reads a tree that uwf wrote, in the stored order. For trees of users there is `readTreeLines`, which accepts any name.
 * @param format that of its repository; the bytes do not show it
 * @throws {CorruptObject} for unknown modes, forbidden names, names that are not UTF-8, duplicates, wrong order or
 * truncation
 */
export function parseTree(data: Uint8Array, format: ObjectFormat = 'sha1'): TreeEntry[] {
  const corrupt = (reason: string): CorruptObject =>
    new CorruptObject(hashObject({ type: 'tree', data }, format), reason);
  const lines = readTreeLines(data, objectIdBytes(format));
  if (lines === undefined) throw corrupt('the tree is truncated');
  const names = new Set<string>();
  let previous: string | undefined;
  return lines.map((line) => {
    const mode = modes.get(line.mode);
    if (mode === undefined) throw corrupt('a tree entry has an unknown mode, or a mode that git no longer writes');
    const name = decodeName(line.name);
    if (name === undefined) throw corrupt('the name of a tree entry is not UTF-8');
    const reason = whyForbidden(name);
    if (reason !== undefined) throw corrupt(`the tree entry ${JSON.stringify(name)} ${reason}`);
    if (names.has(name)) throw corrupt(`the tree entry ${JSON.stringify(name)} is there twice`);
    names.add(name);
    const key = mode === '040000' ? `${line.name}/` : line.name;
    if (previous !== undefined && previous >= key) throw corrupt('the entries of the tree are not in order');
    previous = key;
    return { mode, name, id: line.id };
  });
}

const namesInUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @param name in Latin-1 */
function decodeName(name: string): string | undefined {
  if (/^[\0-\x7f]*$/.test(name)) return name;
  return orElse(() => namesInUtf8.decode(Buffer.from(name, 'latin1')), undefined);
}

function whyForbidden(name: string): string | undefined {
  if (name === '') return 'has no name';
  if (name.includes('/')) return "holds a '/'";
  if (name.includes('\0')) return 'holds a NUL';
  if (name === '.' || name === '..') return 'would be a folder of the file system';
  if (!isWellFormed(name)) return 'is not well-formed Unicode';
  if (isDotGit(name)) return "would be taken for '.git'";
  return undefined;
}

/** One line of a tree as it is stored. */
export type TreeLine = {
  /** In octal digits, as written. */
  mode: string;
  /**
   * In Latin-1: each byte is a character, because a name can be any bytes. Names compare as their bytes do, and an ASCII name
   * stays as it is.
   */
  name: string;
  id: ObjectId;
};

/**
 * Reads a tree without checking modes, names or their order.
 * @param idBytes 20 or 32, by the repository's object format
 * @returns its lines as they are stored; `undefined` if the tree is truncated
 */
export function readTreeLines(data: Uint8Array, idBytes: number): TreeLine[] | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const lines: TreeLine[] = [];
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at);
    const nul = space === -1 ? -1 : bytes.indexOf(0, space);
    const end = nul + 1 + idBytes;
    if (nul === -1 || end > bytes.length) return undefined;
    const mode = bytes.toString('latin1', at, space);
    const name = bytes.toString('latin1', space + 1, nul);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- In hexadecimal 20 and 32 bytes have 40 and 64 digits.
    lines.push({ mode, name, id: bytes.toString('hex', nul + 1, end) as ObjectId });
    at = end;
  }
  return lines;
}

/** The kind of entry that a mode stands for. Source: `object_type` and `canon_mode` in git's cache.h. */
export function kindOfMode(mode: string): 'folder' | 'file' | 'link' | 'submodule' {
  switch (Number.parseInt(mode, 8) & 0o170000) {
    case 0o040000:
      return 'folder';
    case 0o120000:
      return 'link';
    case 0o160000:
      return 'submodule';
    default:
      return 'file';
  }
}
