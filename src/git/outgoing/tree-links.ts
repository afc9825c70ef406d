import { CorruptObject } from '../object-errors.ts';
import { objectIdFromBytes, type ObjectId } from '../object-id.ts';

/** What a tree names: `name` in Latin-1, since any bytes can be a file's name. */
export type TreeLink = { name: string; id: ObjectId; kind: 'tree' | 'blob' };

/**
 * Reads what a tree leads to, without judging names or their order: what git has stored is passed on as it is.
 * Commits of submodules are left out, since no tree keeps those alive.
 *
 * @throws {CorruptObject} if it is cut off
 */
export function readTreeLinks(id: ObjectId, data: Uint8Array): TreeLink[] {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const links: TreeLink[] = [];
  for (let at = 0; at < bytes.byteLength;) {
    const space = bytes.indexOf(0x20, at);
    const nul = space === -1 ? -1 : bytes.indexOf(0, space);
    if (nul === -1 || nul + 21 > bytes.byteLength) throw new CorruptObject(id, 'the tree is truncated');
    const mode = Number.parseInt(bytes.toString('latin1', at, space), 8);
    const format = mode & 0o170000;
    const name = bytes.toString('latin1', space + 1, nul);
    const target = objectIdFromBytes(bytes.subarray(nul + 1, nul + 21));
    if (format !== 0o160000) links.push({ name, id: target, kind: format === 0o040000 ? 'tree' : 'blob' });
    at = nul + 21;
  }
  return links;
}
