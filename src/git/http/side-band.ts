import { BrokenAnswer, refusalOf } from './broken-answer.ts';
import { textOf, type Packet, type PacketReader } from './pkt-line.ts';
import { printable } from '../printable.ts';

/** Gives what is said for people a line at a time. */
export class ProgressLines {
  readonly #tell: ((line: string) => void) | undefined;
  #rest = '';

  constructor(tell: ((line: string) => void) | undefined) {
    this.#tell = tell;
  }

  add(bytes: Uint8Array): void {
    if (this.#tell === undefined) return;
    const lines = `${this.#rest}${Buffer.from(bytes).toString('utf8')}`.split(/[\r\n]+/);
    // A server that never ends its line does not fill the memory.
    this.#rest = (lines.pop() ?? '').slice(-1_000);
    for (const line of lines) if (line !== '') this.#tell(`remote: ${printable(line)}`);
  }
}

/**
 * Takes the data out of a stream in which data, progress and errors share the packets, until the flush that ends it.
 *
 * @param first a packet that was read already, as far as one was
 * @throws {BrokenAnswer} with the server's words where it gives up, and where the stream ends without a flush
 * Source: gitprotocol-pack(5), "Packfile Data".
 */
export async function* dataOfSideBand(
  packets: PacketReader,
  progress: ProgressLines,
  first?: Packet,
): AsyncGenerator<Buffer> {
  for (let packet = first ?? (await packets.expect()); packet !== 'flush'; packet = await packets.expect()) {
    if (typeof packet === 'string') throw new BrokenAnswer('it sent a packet that does not belong here');
    const content = packet.subarray(1);
    switch (packet[0]) {
      case 1:
        yield content;
        break;
      case 2:
        progress.add(content);
        break;
      case 3:
        throw refusalOf(printable(content.toString('utf8').trim()));
      default:
        throw new BrokenAnswer(errorIn(packet) ?? 'it sent a packet that does not belong here');
    }
  }
}

/** What a server says in a packet instead of an answer; `undefined` if the packet is none of that kind. */
export function errorIn(packet: Packet): string | undefined {
  const text = textOf(packet);
  return text?.startsWith('ERR ') === true ? printable(text.slice('ERR '.length)) : undefined;
}
