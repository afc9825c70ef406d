import { isObjectId } from '../object-id.ts';
import type { RemoteRef } from '../remote.ts';
import { BrokenAnswer } from './broken-answer.ts';
import type { PacketReader } from './pkt-line.ts';
import { errorIn } from './side-band.ts';

/** The two halves of git's protocol. */
export type Service = 'git-upload-pack' | 'git-receive-pack';

/** What a server can do, by name; those without a value have an empty one. */
export type Capabilities = ReadonlyMap<string, string>;

/** Some 350,000 refs, and longer than a list of them takes. What does not end is stopped by one of the two. */
const most = { bytes: 32 * 1024 * 1024, ms: 120_000 };

/**
 * Reads the list of refs that a server starts with, in its own order, without peeled tags.
 *
 * Names come as they are; bytes that are no UTF-8 become lone surrogates (U+DC80 to U+DCFF), so that no name looks like
 * another one and none of them passes for a ref's.
 * @param onRef told of each ref, so that what is not wanted is not kept
 * @throws {BrokenAnswer} if it is no such list, does not end, or is of a repository whose objects are not named by SHA-1
 * Source: gitprotocol-http(5), "Smart Server Response"; gitprotocol-pack(5), "Reference Discovery".
 */
export async function readAdvertisement(
  packets: PacketReader,
  service: Service,
  onRef: (ref: RemoteRef) => void,
): Promise<Capabilities> {
  const banner = await packets.expect();
  if (typeof banner === 'string' || banner.toString('latin1').trimEnd() !== `# service=${service}`) {
    throw new BrokenAnswer(errorIn(banner) ?? "it does not speak git's protocol");
  }
  if ((await packets.expect()) !== 'flush') throw new BrokenAnswer("it does not speak git's protocol");
  let capabilities: Capabilities | undefined;
  const started = performance.now();
  for (let bytes = 0; ;) {
    const packet = await packets.expect();
    if (packet === 'flush') break;
    const message = errorIn(packet);
    if (typeof packet === 'string' || message !== undefined) throw new BrokenAnswer(message ?? 'its list is cut');
    bytes += packet.byteLength;
    if (bytes > most.bytes || performance.now() - started > most.ms) {
      throw new BrokenAnswer('it tells of too many refs, or of refs without end');
    }
    const { line, rest } = splitAtNul(packet);
    capabilities ??= parseCapabilities(rest);
    const ref = parseLine(line);
    if (ref !== undefined) onRef(ref);
  }
  capabilities ??= new Map();
  const format = capabilities.get('object-format') ?? 'sha1';
  if (format !== 'sha1') throw new BrokenAnswer(`its objects are named by ${format}, those here by sha1`);
  return capabilities;
}

function splitAtNul(packet: Buffer): { line: Buffer; rest: string } {
  const nul = packet.indexOf(0);
  const line = nul === -1 ? packet : packet.subarray(0, nul);
  return {
    line: line.at(-1) === 0x0a ? line.subarray(0, -1) : line,
    rest: nul === -1 ? '' : packet.toString('utf8', nul + 1),
  };
}

function parseCapabilities(text: string): Capabilities {
  const words = text.split(/\s+/).filter(Boolean);
  return new Map(
    words.map((word): [string, string] => {
      const equals = word.indexOf('=');
      return equals === -1 ? [word, ''] : [word.slice(0, equals), word.slice(equals + 1)];
    }),
  );
}

/** `undefined` for what is no ref: a peeled tag, the place of an empty list, where a shallow history ends. */
function parseLine(line: Buffer): RemoteRef | undefined {
  if (line.toString('latin1', 0, 8) === 'shallow ') return undefined;
  const id = line.toString('latin1', 0, 40);
  if (!isObjectId(id) || line[40] !== 0x20) throw new BrokenAnswer('it lists what is no ref');
  const name = rawName(line.subarray(41));
  return name.endsWith('^{}') ? undefined : { name, id };
}

function rawName(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (Buffer.from(text).equals(bytes)) return text;
  return [...bytes].map((byte) => String.fromCharCode(byte < 0x80 ? byte : 0xdc00 + byte)).join('');
}
