import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { createInflate, inflateSync } from 'node:zlib';
import { Readable } from 'node:stream';
import { compressedBound } from '../disk/inflate.ts';
import { packEntryHeadBytes, readPackEntryHead } from '../disk/pack-entry-head.ts';
import { errnoOf } from '../object-errors.ts';
import { hashObject, isObjectId, parseObjectId } from '../object-id.ts';
import type { ObjectId, ObjectType } from '../object-id.ts';
import { BrokenAnswer, IndigestibleAnswer } from './broken-answer.ts';
import type { IncomingLimits } from './incoming-limits.ts';
import type { PackBytes } from './pack-bytes.ts';
import { PackTable } from './pack-table.ts';
import type { UnpackBudget } from './unpack-budget.ts';

const packHeadBytes = 12;
const checksumBytes = 20;
/** What is unpacked in one piece; larger ones flow by. */
const smallBytes = 1024 * 1024;
const windowBytes = 1024 * 1024;
const entriesPerTurn = 500;

/**
 * Reads a pack from its beginning to its end, and gives where its entries are; those that are objects, and not
 * differences from others, are named.
 *
 * Memory does not depend on what an entry says of its size.
 * @throws {IndigestibleAnswer} if it is not a pack through and through
 * Source: gitformat-pack(5).
 */
export async function scanPack(
  bytes: PackBytes,
  limits: Pick<IncomingLimits, 'objects'>,
  budget: UnpackBudget,
  signal: AbortSignal | undefined,
): Promise<PackTable> {
  const scan = new Scan(bytes, budget);
  const count = scan.readHead();
  if (count > limits.objects) {
    throw new IndigestibleAnswer(`it sent ${count} objects, more than ${limits.objects}`);
  }
  const table = new PackTable(count);
  for (let number = 0; number < count; number += 1) {
    await scan.readEntry(table);
    // A pack of a million takes a while: whoever wants to stop has to be heard.
    if (number % entriesPerTurn === 0) await setImmediate();
    signal?.throwIfAborted();
  }
  scan.expectEnd();
  return table;
}

class Scan {
  readonly #bytes: PackBytes;
  readonly #budget: UnpackBudget;
  readonly #end: number;
  #at = packHeadBytes;
  #window: Buffer = Buffer.alloc(0);
  #windowAt = 0;

  constructor(bytes: PackBytes, budget: UnpackBudget) {
    this.#bytes = bytes;
    this.#budget = budget;
    this.#end = bytes.byteLength - checksumBytes;
  }

  /** How many entries the pack says it has. */
  readHead(): number {
    const head = this.#bytes.read(0, packHeadBytes);
    if (this.#end < packHeadBytes || head.toString('latin1', 0, 4) !== 'PACK') throw damaged('it is none');
    const version = head.readUInt32BE(4);
    if (version !== 2 && version !== 3) throw damaged(`its version ${version} is not known`);
    return head.readUInt32BE(8);
  }

  expectEnd(): void {
    if (this.#at !== this.#end) throw damaged('something follows the last entry');
  }

  async readEntry(table: PackTable): Promise<void> {
    const offset = this.#at;
    const head = readPackEntryHead(this.#peek(packEntryHeadBytes));
    if (typeof head === 'string') throw damaged(head);
    this.#at += head.dataAt;
    const places = { offset, dataAt: this.#at, size: head.size };
    this.#budget.spend(head.size);
    if (head.kind === 'object') {
      const id = await this.#nameOf(head.type, head.size);
      const number = table.add({ kind: 'object', type: head.type, ...places, dataBytes: this.#at - places.dataAt });
      table.name(number, id, head.size);
      return;
    }
    await this.#passOver(head.size);
    const dataBytes = this.#at - places.dataAt;
    if (head.kind === 'ref-delta') {
      if (!isObjectId(head.base)) throw damaged('an entry is cut off');
      table.add({ kind: 'ref-delta', ...places, dataBytes, base: head.base });
      return;
    }
    const base = table.at(offset - head.distance);
    if (base === undefined) throw damaged('the base of a delta lies outside of it');
    table.add({ kind: 'offset-delta', ...places, dataBytes, base });
  }

  /** Goes over the compressed data of an object and gives its id. */
  async #nameOf(type: ObjectType, size: number): Promise<ObjectId> {
    if (size <= smallBytes) return hashObject({ type, data: this.#unpackSmall(size) });
    const digest = createHash('sha1').update(`${type} ${size}\0`);
    await this.#flow(size, (chunk) => digest.update(chunk));
    return parseObjectId(digest.digest('hex'));
  }

  async #passOver(size: number): Promise<void> {
    if (size <= smallBytes) this.#unpackSmall(size);
    else await this.#flow(size, () => {});
  }

  #unpackSmall(size: number): Buffer {
    for (let length = compressedBound(size); ; length *= 4) {
      const input = this.#peek(length);
      try {
        // With `info` Node gives this instead of the buffer alone; its types do not know.
        const { buffer, engine } = inflateSync(input, {
          info: true,
          chunkSize: Math.max(size, 64),
          maxOutputLength: Math.max(size, 1),
        }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
        if (buffer.byteLength !== size) throw damaged('an entry has another size than it says');
        this.#at += engine.bytesWritten;
        return buffer;
      } catch (error) {
        if (error instanceof BrokenAnswer) throw error;
        const isCutOff = errnoOf(error) === 'Z_BUF_ERROR' && input.byteLength < this.#end - this.#at;
        if (!isCutOff) throw damaged('the data of an entry cannot be unpacked');
      }
    }
  }

  async #flow(size: number, onChunk: (chunk: Buffer) => unknown): Promise<void> {
    const inflater = createInflate();
    const source = Readable.from(this.#chunksFrom(this.#at), { objectMode: false });
    source.pipe(inflater);
    let bytes = 0;
    try {
      for await (const chunk of inflater) {
        // Without an encoding a stream gives buffers.
        const part = chunk as Buffer;
        bytes += part.byteLength;
        if (bytes > size) break;
        onChunk(part);
      }
    } catch {
      throw damaged('the data of an entry cannot be unpacked');
    } finally {
      source.destroy();
    }
    if (bytes !== size) throw damaged('an entry has another size than it says');
    this.#at += inflater.bytesWritten;
  }

  *#chunksFrom(start: number): Generator<Buffer> {
    for (let at = start; at < this.#end; at += windowBytes) {
      // A copy: what is read is good until the next time only, and zlib works beside us.
      yield Buffer.from(this.#bytes.read(at, Math.min(windowBytes, this.#end - at)));
    }
  }

  /** The next bytes, fewer where the entries end; they are read in large pieces. */
  #peek(length: number): Buffer {
    const wanted = Math.min(length, this.#end - this.#at);
    if (this.#at < this.#windowAt || this.#at + wanted > this.#windowAt + this.#window.byteLength) {
      this.#windowAt = this.#at;
      this.#window = this.#bytes.read(this.#at, Math.max(wanted, Math.min(windowBytes, this.#end - this.#at)));
    }
    const from = this.#at - this.#windowAt;
    return this.#window.subarray(from, from + wanted);
  }
}

function damaged(reason: string): IndigestibleAnswer {
  return new IndigestibleAnswer(`the pack that it sent is damaged: ${reason}`);
}
