import { BrokenAnswer } from './broken-answer.ts';

/** One packet: its content, or one of the three that have none. */
export type Packet = Buffer | 'flush' | 'delimiter' | 'end';

/** Ends a list of packets. */
export const flushPacket: Buffer = Buffer.from('0000');

const lengthDigits = 4;
const longestPacket = 65_520;
const specialPackets: ReadonlyMap<number, Packet> = new Map([
  [0, 'flush'],
  [1, 'delimiter'],
  [2, 'end'],
]);

/** Puts its length before a text, as four hexadecimal digits that count themselves. Source: gitprotocol-common(5). */
export function encodePacket(text: string): Buffer {
  const content = Buffer.from(text);
  const length = (content.byteLength + lengthDigits).toString(16).padStart(lengthDigits, '0');
  return Buffer.concat([Buffer.from(length), content]);
}

/**
 * Takes packets off a stream of bytes, one at a time; holds one packet and one chunk of the stream.
 *
 * Source: gitprotocol-common(5), "pkt-line Format".
 */
export class PacketReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /**
   * The next packet; `undefined` where the stream ends between two.
   *
   * @throws {BrokenAnswer} if it ends within one, or a length is none
   */
  async next(): Promise<Packet | undefined> {
    if (!(await this.#has(lengthDigits))) {
      if (this.#at === this.#held.byteLength) return undefined;
      throw new BrokenAnswer('the connection ended in the middle of an answer');
    }
    const digits = this.#held.toString('latin1', this.#at, this.#at + lengthDigits);
    const length = /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : -1;
    const special = specialPackets.get(length);
    if (special !== undefined) {
      this.#at += lengthDigits;
      return special;
    }
    if (length < lengthDigits || length > longestPacket) {
      throw new BrokenAnswer("it does not speak git's protocol: a packet has no length");
    }
    if (!(await this.#has(length))) throw new BrokenAnswer('the connection ended in the middle of an answer');
    const content = this.#held.subarray(this.#at + lengthDigits, this.#at + length);
    this.#at += length;
    return content;
  }

  /**
   * The next packet, which has to be there.
   *
   * @throws {BrokenAnswer} also where the stream ends
   */
  async expect(): Promise<Packet> {
    const packet = await this.next();
    if (packet === undefined) throw new BrokenAnswer('the connection ended in the middle of an answer');
    return packet;
  }

  async #has(bytes: number): Promise<boolean> {
    if (this.#held.byteLength - this.#at >= bytes) return true;
    const parts = [this.#held.subarray(this.#at)];
    let total = this.#held.byteLength - this.#at;
    while (total < bytes) {
      const chunk = await this.#chunks.next();
      if (chunk.done === true) break;
      parts.push(Buffer.from(chunk.value.buffer, chunk.value.byteOffset, chunk.value.byteLength));
      total += chunk.value.byteLength;
    }
    this.#held = parts.length === 2 && parts[0]?.byteLength === 0 ? (parts[1] ?? this.#held) : Buffer.concat(parts);
    this.#at = 0;
    return total >= bytes;
  }
}

/** The text of a packet without the line end that it may have; `undefined` for one without content. */
export function textOf(packet: Packet): string | undefined {
  return typeof packet === 'string' ? undefined : packet.toString('utf8').replace(/\n$/, '');
}
