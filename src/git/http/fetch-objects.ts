import type { ObjectId } from '../object-id.ts';
import type { FetchRequest, IncomingObjects, RemoteRef } from '../remote.ts';
import type { Repository } from '../repository.ts';
import { readAdvertisement } from './advertisement.ts';
import type { Capabilities } from './advertisement.ts';
import { bringInParts } from '../bring-in-parts.ts';
import { BrokenAnswer, IndigestibleAnswer, refusalOf } from './broken-answer.ts';
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
import { UnpackBudget } from './unpack-budget.ts';

/** What a fetch works with. */
export type FetchSurroundings = {
  repository: Repository;
  connection: HttpConnection;
  limits: IncomingLimits;
  spool: Spool;
};

/** A ref may have gone between the list and the request: then it starts anew, so many times. */
const mostTries = 3;
/** After so many requests the search for what cannot be taken in ends, and what has not been found innocent stays out. */
const mostParts = 128;

/**
 * Brings what refs lead to in two requests: the list of refs, and one pack for all of them. Where something of it cannot be
 * taken in, or not be sent, that is found by halving, so that it keeps nothing out but what leads to it.
 *
 * The list is that of protocol version 0. Version 2 can leave out what is not asked for, but takes a request more; uwf
 * asks for most refs there are.
 * @throws {BrokenAnswer} where the other side does not keep to the protocol
 * Source: gitprotocol-http(5), gitprotocol-pack(5).
 */
export async function fetchObjects(surroundings: FetchSurroundings, request: FetchRequest): Promise<IncomingObjects> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await fetchOnce(surroundings, request, attempt === mostTries);
    } catch (error) {
      if (!(error instanceof IndigestibleAnswer) || attempt === mostTries) throw error;
    }
  }
}

/** @param mayHalve whether what could not be brought at once is brought in parts, as far as it can be */
async function fetchOnce(
  surroundings: FetchSurroundings,
  request: FetchRequest,
  mayHalve: boolean,
): Promise<IncomingObjects> {
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
  if (wanted.length === 0) return new HttpIncomingObjects(repository, refs, []);
  for (const { name } of wanted) {
    const before = known.get(name);
    if (before !== undefined && (await repository.objects.has(before))) common.add(before);
  }
  const haves = await chooseHaves(repository.objects, { wanted, common: [...common].toReversed(), here: local });
  const wants = new Set(wanted.map(({ id }) => id));
  const negotiation = { capabilities, wants, haves };
  try {
    const budget = new UnpackBudget(surroundings.limits.unpackedBytes);
    return new HttpIncomingObjects(repository, refs, [await requestPack(surroundings, request, negotiation, budget)]);
  } catch (error) {
    const hasMoved = error instanceof IndigestibleAnswer && /not our ref/.test(error.message);
    if (!(error instanceof IndigestibleAnswer) || (hasMoved && !mayHalve)) throw error;
  }
  return new HttpIncomingObjects(repository, refs, await requestInParts(surroundings, request, negotiation));
}

type Negotiation = { capabilities: Capabilities; wants: ReadonlySet<ObjectId>; haves: ReadonlySet<ObjectId> };

/** Brings as much as can be. All packs together are within the limits of one. */
async function requestInParts(
  surroundings: FetchSurroundings,
  request: FetchRequest,
  negotiation: Negotiation,
): Promise<IncomingPack[]> {
  const packs: IncomingPack[] = [];
  const limits = { ...surroundings.limits };
  const budget = new UnpackBudget(limits.unpackedBytes);
  const haves = new Set(negotiation.haves);
  try {
    await bringInParts([...negotiation.wants], mostParts, async (ids) => {
      try {
        const wants = new Set(ids);
        const pack = await requestPack({ ...surroundings, limits }, request, { ...negotiation, wants, haves }, budget);
        packs.push(pack);
        limits.packBytes -= pack.byteLength;
        limits.objects -= pack.length;
        for (const id of ids) haves.add(id);
        return true;
      } catch (error) {
        if (!(error instanceof IndigestibleAnswer)) throw error;
        return false;
      }
    });
    return packs;
  } catch (error) {
    for (const pack of packs) pack.close();
    throw error;
  }
}

async function requestPack(
  { connection, limits, spool }: FetchSurroundings,
  request: FetchRequest,
  negotiation: Negotiation,
  budget: UnpackBudget,
): Promise<IncomingPack> {
  const body = encodeRequest(request, negotiation);
  const answer = await connection.post('git-upload-pack', { byteLength: body.byteLength, chunks: () => [body] });
  const packets = new PacketReader(answer);
  const bytes = openPackBytes(spool);
  try {
    const first = await afterAcknowledgements(packets);
    const data = dataOfSideBand(packets, new ProgressLines(request.onProgress), first);
    await keepPack(data, bytes, limits.packBytes);
    return await IncomingPack.open(bytes, limits, request.signal, budget);
  } catch (error) {
    bytes.close();
    answer.destroy();
    throw error;
  }
}

function encodeRequest(request: FetchRequest, { capabilities, wants, haves }: Negotiation): Buffer {
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
    if (message !== undefined) throw refusalOf(message);
    if (typeof packet === 'string' || !/^(?:NAK|ACK [0-9a-f]{40}.*)\n?$/.test(packet.toString('latin1'))) return packet;
  }
}
