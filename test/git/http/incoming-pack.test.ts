import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { encodeDeltaEntry, encodePackEntry, encodePackHead } from '../../../src/git/disk/encode-pack-entry.ts';
import { BrokenAnswer } from '../../../src/git/http/broken-answer.ts';
import { encodeDelta } from '../../../src/git/http/encode-delta.ts';
import { limitsInMemory } from '../../../src/git/http/incoming-limits.ts';
import type { IncomingLimits } from '../../../src/git/http/incoming-limits.ts';
import { IncomingPack } from '../../../src/git/http/incoming-pack.ts';
import { openPackBytes } from '../../../src/git/http/pack-bytes.ts';
import { scanPack } from '../../../src/git/http/scan-pack.ts';
import { UnpackBudget } from '../../../src/git/http/unpack-budget.ts';
import { ObjectTooLarge } from '../../../src/git/object-errors.ts';
import { hashObject, parseObjectId, type GitObject, type ObjectId } from '../../../src/git/object-id.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
} from '../../helpers/temporary-repository.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

function openPack(pack: Uint8Array, limits: Partial<IncomingLimits> = {}, folder?: string): Promise<IncomingPack> {
  const bytes = openPackBytes({ folder });
  bytes.append(pack);
  return IncomingPack.open(bytes, { ...limitsInMemory, ...limits });
}

function packOf(...entries: Uint8Array[]): Buffer {
  return withSum(Buffer.concat([encodePackHead(entries.length), ...entries]));
}

function withSum(body: Uint8Array): Buffer {
  return Buffer.concat([body, createHash('sha1').update(body).digest()]);
}

/** Where the entries of a sound pack start. */
async function entryOffsets(pack: Uint8Array): Promise<number[]> {
  const bytes = openPackBytes({ folder: undefined });
  bytes.append(pack);
  const table = await scanPack(bytes, limitsInMemory, new UnpackBudget(limitsInMemory.unpackedBytes), undefined);
  return Array.from({ length: table.length }, (_, number) => table.entry(number).offset);
}

const blob = (data: Uint8Array | string): GitObject => ({ type: 'blob', data: Buffer.from(data) });
const whole = (object: GitObject): Buffer => encodePackEntry(object, 1);

/** An entry of a blob that says it has another size than it has. */
function lyingEntry(said: number, data: Uint8Array): Buffer {
  const head: number[] = [];
  let byte = (3 << 4) | (said & 0x0f);
  for (let rest = Math.floor(said / 16); rest > 0; rest = Math.floor(rest / 128)) {
    head.push(byte | 0x80);
    byte = rest & 0x7f;
  }
  return Buffer.concat([Buffer.from([...head, byte]), deflateSync(data)]);
}

/** A history in which git finds many differences of differences, and all its objects by id. */
function createHistory(): { pack(...options: string[]): Buffer; objects: Map<ObjectId, GitObject> } {
  const repository = createTemporaryRepository();
  const lines = Array.from({ length: 400 }, (_, line) => `line ${line} ${line * 7919}`);
  const stream: string[] = [];
  for (let version = 0; version < 120; version += 1) {
    lines[(version * 37) % lines.length] = `changed in ${version}`;
    const text = `${lines.join('\n')}\n`;
    stream.push(`commit refs/heads/main\ncommitter A <a@b> ${1_795_262_400 + version} +0000\ndata 2\nv\n`);
    stream.push(`M 100644 inline folder/file\ndata ${Buffer.byteLength(text)}\n${text}\n`);
  }
  const run = (args: string[], input: string): Buffer => {
    const { stdout, status, stderr } = spawnSync('git', args, {
      cwd: repository.dir,
      env: isolatedGitEnvironment,
      input,
      maxBuffer: 64 * MiB,
    });
    if (status !== 0) throw new Error(stderr.toString());
    return stdout;
  };
  run(['fast-import', '--quiet'], stream.join(''));
  const objects = new Map<ObjectId, GitObject>();
  const batch = run(['cat-file', '--batch', '--batch-all-objects'], '');
  for (let at = 0; at < batch.byteLength;) {
    const end = batch.indexOf(0x0a, at);
    const [id = '', type, size] = batch.toString('latin1', at, end).split(' ');
    const data = batch.subarray(end + 1, end + 1 + Number(size));
    // git says the type of what it has.
    objects.set(parseObjectId(id), { type: type as GitObject['type'], data });
    at = end + 1 + Number(size) + 1;
  }
  return {
    objects,
    pack: (...options) =>
      run(['pack-objects', '--stdout', '--revs', '--all', '--no-reuse-delta', '--quiet', ...options], ''),
  };
}

describe('a pack that git sends', () => {
  let history: ReturnType<typeof createHistory>;
  beforeAll(() => {
    history = createHistory();
  });

  test.for([
    ['bases by offset, in a file', ['--delta-base-offset'], true],
    ['bases by offset, in memory', ['--delta-base-offset'], false],
    ['bases by id', [], false],
    ['long chains', ['--delta-base-offset', '--depth=4000', '--window=200'], true],
  ] as const)('is read to the last object: %s', async ([, options, isOnDisk]) => {
    const pack = await openPack(history.pack(...options), {}, isOnDisk ? createTemporaryFolder() : undefined);
    expect(history.objects.size).toBeGreaterThan(360);
    for (const [id, { type, data }] of history.objects) {
      expect(pack.typeOf(id)).toBe(type);
      expect(Buffer.from(pack.read(id)?.data ?? []).equals(data)).toBe(true);
    }
    pack.close();
    pack.close();
  });

  test('gives the right object, none, or an error when bytes of it are others; never another one', async () => {
    const sent = history.pack('--delta-base-offset');
    const offsets = await entryOffsets(sent);
    // What stands before the data of an entry has no sum of its own: there a change may pass.
    const inHead = fc.tuple(fc.constantFrom(...offsets), fc.nat({ max: 3 })).map(([offset, by]) => offset + by);
    const anywhere = fc.noBias(fc.nat({ max: sent.byteLength - 21 }));
    let opened = 0;
    const readChanged = async (at: number, change: number): Promise<void> => {
      const body = Buffer.from(sent.subarray(0, -20));
      body[at] = (body[at] ?? 0) ^ change;
      const pack = await openPack(withSum(body)).catch((error: unknown) => {
        expect(error).toBeInstanceOf(BrokenAnswer);
      });
      if (pack === undefined) return;
      opened += 1;
      for (const [id, { data }] of history.objects) {
        const read = pack.read(id);
        if (read !== undefined) expect(Buffer.from(read.data).equals(data)).toBe(true);
      }
    };
    await fc.assert(fc.asyncProperty(fc.oneof(inHead, anywhere), fc.integer({ min: 1, max: 255 }), readChanged), {
      numRuns: Number(process.env['SUITE_HTTP_FUZZ'] ?? 150),
    });
    // Few changes pass, and by chance none of those may have: then one is looked for.
    for (const at of offsets) {
      if (opened > 0) break;
      for (const change of [1, 2, 4, 8, 16, 32, 64, 128]) await readChanged(at, change);
    }
    expect(opened).toBeGreaterThan(0);
  });

  test('is refused wherever it is cut off', async () => {
    const sent = history.pack('--delta-base-offset');
    await fc.assert(
      fc.asyncProperty(fc.noBias(fc.nat({ max: sent.byteLength - 21 })), async (length) => {
        await expect(openPack(withSum(sent.subarray(0, length)))).rejects.toThrow(BrokenAnswer);
      }),
      { numRuns: 40 },
    );
  });
});

describe('a pack that means harm', () => {
  const small = blob('a small one');

  test('an object that is too large is known as that, and the others are read', async () => {
    const zeros = blob(Buffer.alloc(3 * MiB));
    const pack = await openPack(packOf(whole(zeros), whole(small)), { objectBytes: MiB });
    expect(pack.has(hashObject(zeros))).toBe(true);
    expect(() => pack.read(hashObject(zeros))).toThrow(ObjectTooLarge);
    expect(() => pack.read(hashObject(small), 5)).toThrow(ObjectTooLarge);
    expect(pack.read(hashObject(small))).toEqual(small);
  });

  test('a difference that makes too much of a little is not made, nor what is made of it', async () => {
    const base = blob(Buffer.alloc(64 * KiB, 'x'));
    const large = blob(Buffer.alloc(2 * MiB, 'x'));
    const larger = blob(Buffer.concat([large.data, Buffer.from('y')]));
    const pack = await openPack(
      packOf(
        whole(base),
        encodeDeltaEntry(encodeDelta(base.data, large.data), hashObject(base), 1),
        encodeDeltaEntry(encodeDelta(large.data, larger.data), hashObject(large), 1),
        whole(small),
      ),
      { deltaBytes: MiB },
    );
    expect(pack.has(hashObject(large))).toBe(false);
    expect(pack.has(hashObject(larger))).toBe(false);
    expect(pack.read(hashObject(base))?.data.byteLength).toBe(64 * KiB);
    expect(pack.read(hashObject(small))).toEqual(small);
  });

  test('a difference from too large an object is not made', async () => {
    const base = blob(Buffer.alloc(2 * MiB, 'x'));
    const pack = await openPack(
      packOf(whole(base), encodeDeltaEntry(encodeDelta(base.data, small.data), hashObject(base), 1), whole(blob('z'))),
      { deltaBytes: MiB },
    );
    expect(pack.has(hashObject(small))).toBe(false);
    expect(pack.read(hashObject(blob('z')))).toEqual(blob('z'));
  });

  test('differences from each other, or from nothing, are not made', async () => {
    const [one, other] = [blob('this is one of the two'), blob('this is the other of the two')];
    const pack = await openPack(
      packOf(
        encodeDeltaEntry(encodeDelta(one.data, other.data), hashObject(one), 1),
        encodeDeltaEntry(encodeDelta(other.data, one.data), hashObject(other), 1),
        whole(small),
      ),
    );
    expect(pack.has(hashObject(one))).toBe(false);
    expect(pack.has(hashObject(other))).toBe(false);
    expect(pack.read(hashObject(small))).toEqual(small);
  });

  test('a difference may come before what it is a difference from', async () => {
    const [one, other] = [blob('this is one of the two'), blob('this is the other of the two')];
    const third = blob('this is the third of the two');
    const pack = await openPack(
      packOf(
        encodeDeltaEntry(encodeDelta(other.data, third.data), hashObject(other), 1),
        encodeDeltaEntry(encodeDelta(one.data, other.data), hashObject(one), 1),
        whole(one),
      ),
    );
    expect(pack.read(hashObject(third))).toEqual(third);
  });

  test.each<[string, () => Buffer, Partial<IncomingLimits>]>([
    [
      'unpacks to more than is allowed in all',
      () => packOf(whole(blob(Buffer.alloc(900))), whole(blob('x'.repeat(200)))),
      { unpackedBytes: 1000 },
    ],
    ['has more objects than are allowed', () => packOf(whole(small), whole(blob('b'))), { objects: 1 }],
    [
      'says that it has four thousand million',
      () => {
        return withSum(Buffer.concat([encodePackHead(0xffffffff), whole(small)]));
      },
      {},
    ],
    ['has an entry with less in it than it says', () => packOf(lyingEntry(100, Buffer.alloc(50))), {}],
    ['has an entry with more in it than it says', () => packOf(lyingEntry(100, Buffer.alloc(5 * MiB))), {}],
    ['has a large entry with more in it than it says', () => packOf(lyingEntry(2 * MiB, Buffer.alloc(9 * MiB))), {}],
    ['has a large entry with less in it than it says', () => packOf(lyingEntry(20 * MiB, Buffer.alloc(MiB))), {}],
    ['has an entry of a size that no number holds', () => packOf(Buffer.from('bfffffffffffffffffff7f', 'hex')), {}],
    ['has an entry of an unknown type', () => packOf(Buffer.concat([Buffer.from([0x51]), deflateSync('x')])), {}],
    [
      'has a difference from what is no entry',
      () => packOf(whole(small), Buffer.concat([Buffer.from([0x61, 3]), deflateSync('x')])),
      {},
    ],
    ['has something after the last entry', () => packOf(Buffer.concat([whole(small), Buffer.from('more')])), {}],
    ['is none', () => Buffer.from('PACK'), {}],
    ['is of another version', () => Buffer.concat([Buffer.from('PACK\0\0\0\x09\0\0\0\0'), Buffer.alloc(20)]), {}],
  ])('is refused if it %s', async (_, pack, limits) => {
    await expect(openPack(pack(), limits)).rejects.toThrow(BrokenAnswer);
  });

  test('a chain that is made again and again comes to its end', async () => {
    // Each has one byte more than the one before it, and none is small enough to be kept at hand.
    let before = blob(Buffer.alloc(5 * MiB, 'x'));
    const entries = [whole(before)];
    for (let number = 0; number < 16; number += 1) {
      const next = blob(Buffer.concat([before.data, Buffer.from([number])]));
      const size = (bytes: number): number[] => [
        0x80 | (bytes & 0x7f),
        0x80 | ((bytes >> 7) & 0x7f),
        0x80 | ((bytes >> 14) & 0x7f),
        bytes >> 21,
      ];
      const copy = (length: number): number[] => [0xf0, length & 0xff, (length >> 8) & 0xff, length >> 16];
      const delta = [
        ...size(before.data.byteLength),
        ...size(next.data.byteLength),
        ...copy(before.data.byteLength),
        1,
        number,
      ];
      entries.push(encodeDeltaEntry(Buffer.from(delta), hashObject(before), 1));
      before = next;
    }
    expect((await openPack(packOf(...entries))).read(hashObject(before))?.data.byteLength).toBe(5 * MiB + 16);
    await expect(openPack(packOf(...entries), { unpackedBytes: 200 * MiB })).rejects.toThrow(/unpacks to more than/);
  });
});

test('what one pack only says that it unpacks to does not use up what another may', async () => {
  const budget = new UnpackBudget(MiB);
  const open = (pack: Uint8Array): Promise<IncomingPack> => {
    const bytes = openPackBytes({ folder: undefined });
    bytes.append(pack);
    return IncomingPack.open(bytes, limitsInMemory, undefined, budget);
  };
  await expect(open(packOf(lyingEntry(2 ** 45, Buffer.from('short'))))).rejects.toThrow('unpacks to more');
  await expect(open(packOf(whole(blob('sound'))))).resolves.toMatchObject({ length: 1 });
});
