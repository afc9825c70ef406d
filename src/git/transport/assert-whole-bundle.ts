import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { UwfError } from '../../errors.ts';
import { objectFormatsDiffer } from '../format/object-errors.ts';
import type { ObjectFormat } from '../format/object-id.ts';

/**
 * Compares the pack of a bundle with the checksum that it ends with. `git bundle verify` does not, and git reads no more than
 * the list of refs where it has their commits, so that a backup which was cut off would look up to date.
 *
 * @param path a file that begins as a bundle does
 * @param name how the user names it
 * @param format that of the repository; of a bundle of the other one, git says that it is corrupt
 * @throws {UwfError} `bundle-damaged`, `object-formats-differ`
 * Source: gitformat-bundle(5), gitformat-pack(5).
 */
export async function assertWholeBundle(path: string, name: string, format: ObjectFormat): Promise<void> {
  let header: Buffer = Buffer.alloc(0);
  let hash: Hash | undefined;
  let bytes = 20;
  let end: Buffer = Buffer.alloc(0);
  // Without an encoding, a file is read as buffers.
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let read = chunk;
    if (hash === undefined) {
      header = Buffer.concat([header, chunk]);
      const length = header.indexOf('\n\n');
      if (length === -1) continue;
      const isLong = header.subarray(0, length).includes('\n@object-format=sha256\n');
      if (isLong !== (format === 'sha256')) throw objectFormatsDiffer(name, format);
      hash = createHash(format);
      bytes = isLong ? 32 : 20;
      read = header.subarray(length + 2);
    }
    const unhashed = Buffer.concat([end, read]);
    const cut = Math.max(0, unhashed.length - bytes);
    hash.update(unhashed.subarray(0, cut));
    end = unhashed.subarray(cut);
  }
  if (hash?.digest().equals(end) === true) return;
  throw new UwfError(`the bundle ${name} is damaged or incomplete: its checksum is wrong`, {
    code: 'bundle-damaged',
    kind: 'data',
    hint: `copy it again from where it was made; or remove it, and 'uwf push ${path}' writes a new one from what is here`,
    facts: { remote: name },
  });
}
