import { createHash } from 'node:crypto';
import { IndigestibleAnswer } from './broken-answer.ts';
import type { PackBytes } from './pack-bytes.ts';

const checksumBytes = 20;

/**
 * Keeps a pack as it comes in, and checks the sum at its end.
 *
 * @throws {IndigestibleAnswer} if it is cut off or damaged, or larger than `maxBytes`
 * @throws {StorageFull} / {StorageReadOnly}
 * Source: gitformat-pack(5): the last 20 bytes are the SHA-1 of what comes before.
 */
export async function keepPack(stream: AsyncIterable<Buffer>, bytes: PackBytes, maxBytes: number): Promise<void> {
  const digest = createHash('sha1');
  let last = Buffer.alloc(0);
  for await (const chunk of stream) {
    if (bytes.byteLength + chunk.byteLength > maxBytes) {
      throw new IndigestibleAnswer(`it sent more than ${maxBytes} bytes`);
    }
    bytes.append(chunk);
    const seen = Buffer.concat([last, chunk]);
    const end = Math.max(0, seen.byteLength - checksumBytes);
    digest.update(seen.subarray(0, end));
    last = seen.subarray(end);
  }
  if (!digest.digest().equals(last)) throw new IndigestibleAnswer('the pack that it sent is damaged or cut off');
}
