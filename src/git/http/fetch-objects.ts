import type { ObjectId } from '../object-id.ts';
import type { FetchRequest, IncomingObjects, RemoteRef } from '../remote.ts';
import type { Repository } from '../repository.ts';
import { readAdvertisement } from './advertisement.ts';
import type { Capabilities } from './advertisement.ts';
import { BrokenAnswer } from './broken-answer.ts';
import { chooseHaves } from './choose-haves.ts';
import type { HttpConnection } from './http-connection.ts';
import { HttpIncomingObjects } from './http-incoming-objects.ts';
import type { IncomingLimits } from './incoming-limits.ts';
import { IncomingPack } from './incoming-pack.ts';
import { keepPack } from './keep-pack.ts';
import { readLocalRefs } from './local-refs.ts';
import { openPackBytes, type Spool } from './pack-bytes.ts';
import { encodePacket, flushPacket, PacketReader } from './pkt-line.ts';
import type { Packet } from './pkt-line.ts';
import { refMatcher } from './ref-pattern.ts';
import { dataOfSideBand, errorIn, ProgressLines } from './side-band.ts';

/** What a fetch works with. */
export type FetchSurroundings = {
  repository: Repository;
  connection: HttpConnection;
  limits: IncomingLimits;
  spool: Spool;
};

/** A ref may have gone between the list and the request: then it starts anew, so many times. */
const mostTries = 3;

/**
 * Brings what refs lead to in two requests: the list of refs, and one pack for all of them.
 *
 * The list is that of protocol version 0. Version 2 can leave out what is not asked for, but takes a request more; uwf
 * asks for most refs there are.
 * @throws {BrokenAnswer} where the other side does not keep to the protocol
 * Source: gitprotocol-http(5), gitprotocol-pack(5).
 */
export async function fetchObjects(surroundings: FetchSurroundings, request: FetchRequest): Promise<IncomingObjects> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await fetchOnce(surroundings, request);
    } catch (error) {
      const hasMoved = error instanceof BrokenAnswer && /not our ref/.test(error.message);
      if (!hasMoved || attempt === mostTries) throw error;
    }
  }
}

async function fetchOnce(surroundings: FetchSurroundings, request: FetchRequest): Promise<IncomingObjects> {
  const { repository, connection } = surroundings;
  const local = await readLocalRefs(repository);
  const heads = new Set(local.values());
  const known = new Map((request.known ?? []).map(({ name, id }) => [name, id]));
  const isAskedFor = refMatcher(request.refs, request.except);
  const refs: RemoteRef[] = [];
  const common = new Set<ObjectId>();
  const packets = new PacketReader(await connection.list('git-upload-pack'));
  const capabilities = await readAdvertisement(packets, 'git-upload-pack', (ref) => {
    if (heads.has(ref.id)) common.add(ref.id);
    if (isAskedFor(ref.name)) refs.push(ref);
  });
  const wanted: RemoteRef[] = [];
  for (const ref of refs) {
    const isHad = heads.has(ref.id) || (known.get(ref.name) === ref.id && (await repository.objects.has(ref.id)));
    if (!isHad) wanted.push(ref);
  }
  if (wanted.length === 0) return new HttpIncomingObjects(repository, refs, undefined);
  for (const { name } of wanted) {
    const before = known.get(name);
    if (before !== undefined && (await repository.objects.has(before))) common.add(before);
  }
  const haves = await chooseHaves(repository.objects, { wanted, common: [...common].toReversed(), here: local });
  const wants = new Set(wanted.map(({ id }) => id));
  const pack = await requestPack(surroundings, request, { capabilities, wants, haves });
  return new HttpIncomingObjects(repository, refs, pack);
}

async function requestPack(
  { connection, limits, spool }: FetchSurroundings,
  request: FetchRequest,
  negotiation: { capabilities: Capabilities; wants: ReadonlySet<ObjectId>; haves: ReadonlySet<ObjectId> },
): Promise<IncomingPack> {
  const body = encodeRequest(request, negotiation);
  const answer = await connection.post('git-upload-pack', { byteLength: body.byteLength, chunks: () => [body] });
  const packets = new PacketReader(answer);
  const bytes = openPackBytes(spool);
  try {
    const first = await afterAcknowledgements(packets);
    const data = dataOfSideBand(packets, new ProgressLines(request.onProgress), first);
    await keepPack(data, bytes, limits.packBytes);
    return await IncomingPack.open(bytes, limits, request.signal);
  } catch (error) {
    bytes.close();
    throw error;
  }
}

function encodeRequest(
  request: FetchRequest,
  { capabilities, wants, haves }: Parameters<typeof requestPack>[2],
): Buffer {
  if (!capabilities.has('side-band-64k')) throw new BrokenAnswer('it is too old: it does not know side-band-64k');
  const { maxObjectBytes } = request;
  const leavesOut = maxObjectBytes !== undefined && capabilities.has('filter');
  const chosen = ['side-band-64k'];
  if (capabilities.has('ofs-delta')) chosen.push('ofs-delta');
  if (request.onProgress === undefined && capabilities.has('no-progress')) chosen.push('no-progress');
  if (capabilities.has('agent')) chosen.push('agent=git/uwf');
  if (leavesOut) chosen.push('filter');
  const lines = [...wants].map((id, at) => encodePacket(`want ${id}${at === 0 ? ` ${chosen.join(' ')}` : ''}\n`));
  if (leavesOut) lines.push(encodePacket(`filter blob:limit=${maxObjectBytes + 1}\n`));
  lines.push(flushPacket);
  for (const id of haves) lines.push(encodePacket(`have ${id}\n`));
  lines.push(encodePacket('done\n'));
  return Buffer.concat(lines);
}

/** The first packet after those that say which commits are known there. */
async function afterAcknowledgements(packets: PacketReader): Promise<Packet> {
  for (;;) {
    const packet = await packets.expect();
    const message = errorIn(packet);
    if (message !== undefined) throw new BrokenAnswer(message);
    if (typeof packet === 'string' || !/^(?:NAK|ACK [0-9a-f]{40}.*)\n?$/.test(packet.toString('latin1'))) return packet;
  }
}
