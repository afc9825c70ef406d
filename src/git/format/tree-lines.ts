import type { ObjectId } from './object-id.ts';

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
 *
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
