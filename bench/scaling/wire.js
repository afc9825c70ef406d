import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';

/**
 * What a client says to git at a host. The benchmark's client is no git, because 32 of them would take the machine from the
 * host that is measured.
 *
 * Source: gitprotocol-v2(5), gitprotocol-pack(5), gitformat-pack(5).
 */

export const NO_ID = '0'.repeat(40);
const TYPES = { commit: 1, tree: 2, blob: 3 };

/** A line with its length; null: the packet that ends a list. */
function packet(line) {
  return line === null ? '0000' : `${(line.length + 5).toString(16).padStart(4, '0')}${line}\n`;
}

/** The question for refs with these prefixes. */
export function listRequest(prefixes) {
  const lines = prefixes.map((prefix) => packet(`ref-prefix ${prefix}`));
  return `${packet('command=ls-refs')}0001${lines.join('')}0000`;
}

/** The question for a commit and what it has beyond another one. */
export function fetchRequest(want, have) {
  const lines = ['thin-pack', 'ofs-delta', 'no-progress', `want ${want}`, `have ${have}`, 'done'];
  return `${packet('command=fetch')}0001${lines.map(packet).join('')}0000`;
}

/** An atomic push. @param {{ name: string, from: string, to: string }[]} edits */
export function pushRequest(edits, objects) {
  const lines = edits.map(({ name, from, to }, at) => {
    const line = `${from} ${to} ${name}${at === 0 ? '\0 report-status atomic object-format=sha1' : ''}`;
    return `${(line.length + 4).toString(16).padStart(4, '0')}${line}`;
  });
  return Buffer.concat([Buffer.from(`${lines.join('')}0000`), packOf(objects)]);
}

/** @param {keyof typeof TYPES} type */
function makeObject(type, content) {
  const data = Buffer.from(content);
  const id = createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex');
  return { type, data, id };
}

/** A commit with files. @returns {{ id: string, objects: ReturnType<typeof makeObject>[] }} */
export function makeCommit(message, files, parent) {
  const blobs = Object.entries(files).map(([name, text]) => ({ name, blob: makeObject('blob', text) }));
  const entries = blobs.map(({ name, blob }) =>
    Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.from(blob.id, 'hex')]),
  );
  const tree = makeObject('tree', Buffer.concat(entries));
  const who = 'Bench <bench@example.org> 1795262500 +0000';
  const parents = parent === undefined ? '' : `parent ${parent}\n`;
  const commit = makeObject('commit', `tree ${tree.id}\n${parents}author ${who}\ncommitter ${who}\n\n${message}\n`);
  return { id: commit.id, objects: [commit, tree, ...blobs.map(({ blob }) => blob)] };
}

function packOf(objects) {
  const head = Buffer.alloc(12);
  head.write('PACK');
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(objects.length, 8);
  const body = Buffer.concat([
    head,
    ...objects.flatMap(({ type, data }) => [sizeOf(type, data.length), deflateSync(data)]),
  ]);
  return Buffer.concat([body, createHash('sha1').update(body).digest()]);
}

function sizeOf(type, length) {
  const bytes = [(TYPES[type] << 4) | (length & 15)];
  for (let rest = length >> 4; rest > 0; rest >>= 7) {
    bytes.push((bytes.pop() ?? 0) | 128, rest & 127);
  }
  return Buffer.from(bytes);
}
