import type { ObjectId } from '../object-id.ts';
import type { PushEdit, PushRequest, PushResult } from '../remote.ts';
import type { Repository } from '../repository.ts';
import { readAdvertisement } from './advertisement.ts';
import type { Capabilities } from './advertisement.ts';
import { BrokenAnswer } from './broken-answer.ts';
import type { HttpConnection } from './http-connection.ts';
import { readLocalRefs } from './local-refs.ts';
import { findNewCommits } from '../outgoing/new-commits.ts';
import { findNewObjects, type NewObject } from '../outgoing/new-objects.ts';
import { openPackBytes } from './pack-bytes.ts';
import type { PackBytes, Spool } from './pack-bytes.ts';
import { encodePacket, flushPacket, PacketReader } from './pkt-line.ts';
import { inOrder, planPush, sentOf, undone, type SentEdit } from '../outgoing/push-plan.ts';
import { readPushReport, resultsOf, type PushReport } from './push-report.ts';
import { dataOfSideBand, ProgressLines } from './side-band.ts';
import { writePushPack } from './write-push-pack.ts';

/** What a push works with. */
export type PushSurroundings = { repository: Repository; connection: HttpConnection; spool: Spool };

/** What a server has: refs by name, and further commits that it tells of without a name. */
type There = { refs: Map<string, ObjectId>; ids: Set<ObjectId>; capabilities: Capabilities };

const nothing = '0'.repeat(40);
const chunkBytes = 1024 * 1024;

/**
 * Makes edits of the remote's refs in two requests: the list of refs, and all edits with one pack. Where something was
 * refused the list is read again, to tell what has moved.
 *
 * @throws {BrokenAnswer} where the other side does not keep to the protocol, or does not say what became of it
 * Source: gitprotocol-http(5), gitprotocol-pack(5), "Pushing Data To a Server".
 */
export async function pushEdits(surroundings: PushSurroundings, request: PushRequest): Promise<PushResult[]> {
  if (request.edits.length === 0) return [];
  const { repository, connection } = surroundings;
  const there = await listRefs(connection);
  const planned = await planPush(repository.objects, request, there.refs);
  const { sent, isStopped } = sentOf(planned);
  if (sent.length === 0) return inOrder(planned, []);
  if (isStopped && there.capabilities.has('atomic')) {
    return inOrder(
      planned,
      sent.map(({ edit }) => undone(edit.name)),
    );
  }
  const report = await send(surroundings, request, { there, sent });
  const isAllDone = report.unpacked === undefined && sent.every(({ edit }) => report.done.has(edit.name));
  const now = isAllDone ? undefined : (await listRefs(connection)).refs;
  return inOrder(planned, resultsOf(sent, report, now));
}

async function listRefs(connection: HttpConnection): Promise<There> {
  const refs = new Map<string, ObjectId>();
  const ids = new Set<ObjectId>();
  const packets = new PacketReader(await connection.list('git-receive-pack'));
  const capabilities = await readAdvertisement(packets, 'git-receive-pack', ({ name, id }) => {
    ids.add(id);
    refs.set(name, id);
  });
  return { refs, ids, capabilities };
}

async function send(
  { repository, connection, spool }: PushSurroundings,
  request: PushRequest,
  { there, sent }: { there: There; sent: readonly SentEdit[] },
): Promise<PushReport> {
  const commands = encodeCommands(there.capabilities, sent);
  const values = sent.flatMap(({ edit }) => (edit.value === null ? [] : [edit.value]));
  const pack = openPackBytes(spool);
  try {
    if (values.length > 0) {
      const found = await objectsToSend(repository, values, there);
      const mayBeThin = !there.capabilities.has('no-thin');
      await writePushPack(repository.objects, found, pack, { mayBeThin, signal: request.signal });
    }
    const answer = await connection.post('git-receive-pack', {
      byteLength: commands.byteLength + pack.byteLength,
      chunks: () => withPack(commands, pack),
    });
    const packets = new PacketReader(answer);
    if (!there.capabilities.has('side-band-64k')) return await readPushReport(packets);
    const data = dataOfSideBand(packets, new ProgressLines(request.onProgress));
    const report = await readPushReport(new PacketReader(data));
    // The report is whole when the server has nothing more to say.
    for await (const _ of data);
    return report;
  } finally {
    pack.close();
  }
}

async function objectsToSend(repository: Repository, values: readonly ObjectId[], there: There): Promise<NewObject[]> {
  const commits = await findNewCommits(repository.objects, values, {
    has: (id) => there.ids.has(id),
    all: () => commonCommits(repository, there),
  });
  return findNewObjects(repository.objects, commits);
}

/** What the server has and this repository too, as far as that is seen from refs. */
async function commonCommits(repository: Repository, there: There): Promise<ObjectId[]> {
  const local = await readLocalRefs(repository);
  const common = new Set([...local.values()].filter((id) => there.ids.has(id)));
  for (const [name, id] of there.refs) {
    if (local.has(name) && !common.has(id) && (await repository.objects.has(id))) common.add(id);
  }
  return [...common];
}

function encodeCommands(capabilities: Capabilities, sent: readonly SentEdit[]): Buffer {
  if (!capabilities.has('report-status')) throw new BrokenAnswer('it would not say what became of a push');
  if (sent.some(({ edit }) => edit.value === null) && !capabilities.has('delete-refs')) {
    throw new BrokenAnswer('it lets no user delete refs');
  }
  const chosen = ['report-status', 'side-band-64k', 'atomic'].filter((name) => capabilities.has(name));
  if (capabilities.has('agent')) chosen.push('agent=git/uwf');
  const lines = sent.map(({ edit, before }, at) =>
    encodePacket(`${commandOf(edit, before)}${at === 0 ? `\0${chosen.join(' ')}` : ''}`),
  );
  return Buffer.concat([...lines, flushPacket]);
}

function commandOf({ name, value }: PushEdit, before: ObjectId | null): string {
  return `${before ?? nothing} ${value ?? nothing} ${name}`;
}

function* withPack(commands: Buffer, pack: PackBytes): Generator<Uint8Array> {
  yield commands;
  for (let at = 0; at < pack.byteLength; at += chunkBytes) yield Buffer.from(pack.read(at, chunkBytes));
}
