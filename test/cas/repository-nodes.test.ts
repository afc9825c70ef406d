import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { base32, InvalidNodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { lookupOf, reindex, repositoryNodes } from '../../src/cas/lookup.ts';
import { HashMismatch } from '../../src/cas/node.ts';
import { putScratch, removeFromScratch } from '../../src/cas/scratch.ts';
import { hashObject } from '../../src/git/format/object-id.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import type { Repository } from '../../src/git/repository.ts';
import { createMemoryRepository } from '../helpers/memory-repository.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  type TemporaryRepository,
} from '../helpers/temporary-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { commitFiles, commitNodes, textNode } from './commit-of-nodes.ts';

beforeAll(prepareHashing);

const thread = 'refs/threads/01KTWEWZ760000000000000000';

async function onDisk(): Promise<{ temporary: TemporaryRepository; repository: Repository; file: string }> {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  return { temporary, repository, file: join(temporary.dir, '.git', 'uwf', 'lookup') };
}

/** Zeros from a place on, as a power cut leaves them. */
function zeroed(sound: Buffer, at: number, bytes = 10): Buffer {
  return Buffer.from(sound).fill(0, at, at + bytes);
}

/** Appends a commit with one node of this text to the thread. */
async function append(repository: Repository, text: string, ref = thread): Promise<void> {
  const tip = await repository.refs.read(parseRefName(ref));
  const files = [{ path: 'output.md', node: textNode(text) }];
  await commitNodes(repository, { files, ref, parents: tip === undefined ? [] : [tip] });
}

test('the lookup tells of a commit and all before it only while it has them', async () => {
  const { repository, file } = await onDisk();
  await append(repository, 'a');
  await append(repository, 'b');
  const tip = (await repository.refs.read(parseRefName(thread)))!;
  const [a, c] = [textNode('a'), textNode('c')];
  const blob = hashObject({ type: 'blob', data: a.blob });
  const lookup = lookupOf(repository);
  expect(lookup.blobsUpTo(tip, a.hash)).toBeUndefined();
  await lookup.update();
  expect(lookup.blobsUpTo(tip, a.hash)).toEqual([blob]);
  expect(lookup.blobsUpTo(tip, c.hash)).toEqual([]);
  truncateSync(file, 100);
  const other = lookupOf({ ...repository });
  expect(other.blobsUpTo(tip, c.hash)).toBeUndefined();
  await other.update();
  expect(other.blobsUpTo(tip, c.hash)).toEqual([]);
});

describe.each([
  ['in memory', async () => (await createMemoryRepository()).repository],
  ['on a disk', async () => (await onDisk()).repository],
])('the nodes of a repository %s', (_, open) => {
  test.each([
    thread,
    'refs/history/2026-11-21/01KTWEWZ760000000000000000',
    'refs/workflows/loop',
    'refs/uwf/schemas/EYHPV6X8XHTCS',
    'refs/uwf/remotes/origin/threads/01KTWEWZ760000000000000000',
    'refs/uwf/scratch/01KTWEWZ760000000000000000',
    'refs/uwf/pins',
  ])('are found at %s, and again when there are more', async (ref) => {
    const repository = await open();
    const nodes = repositoryNodes(repository);
    expect(await nodes.find(textNode('a').hash)).toBeUndefined();
    await append(repository, 'a', ref);
    expect((await nodes.find(textNode('a').hash))?.payload).toEqual({ text: 'a' });
    // Scratch refs hold one commit, so that what they held before is gone then.
    await append(repository, 'b', ref);
    expect((await nodes.find(textNode('b').hash))?.payload).toEqual({ text: 'b' });
  });

  test('are found behind the empty commits that keep archived threads, whatever has reached one before', async () => {
    const repository = await open();
    const end = await commitNodes(repository, { files: [{ path: 'end.md', node: textNode('end') }] });
    const first = await commitFiles(repository, {}, { parents: [end] });
    const pinning = { files: [{ path: 'pin.md', node: textNode('pin') }], ref: thread, parents: [first] };
    await commitNodes(repository, pinning);
    const nodes = repositoryNodes(repository);
    expect(await nodes.find(textNode('pin').hash)).toBeDefined();
    const other = await commitNodes(repository, { files: [{ path: 'end.md', node: textNode('other') }] });
    await commitFiles(repository, {}, { parents: [first, other], ref: 'refs/uwf/archive/ends/0123456789abcdef' });
    await repository.refs.update([
      { name: parseRefName(thread), expected: (await repository.refs.read(parseRefName(thread)))!, value: null },
    ]);
    for (const text of ['end', 'other']) expect(await nodes.find(textNode(text).hash)).toBeDefined();
    expect(await reindex(repository)).toEqual({ commits: 4, nodes: 2 });
    for (const text of ['end', 'other']) expect(await nodes.find(textNode(text).hash)).toBeDefined();
  });

  test('are not those of branches', async () => {
    const repository = await open();
    await append(repository, 'a', 'refs/heads/main');
    expect(await repositoryNodes(repository).find(textNode('a').hash)).toBeUndefined();
  });

  test('are found by the beginning of their hash, in order', async () => {
    const repository = await open();
    const texts = Array.from({ length: 64 }, (_, at) => `text ${at}`);
    for (const text of texts.slice(0, 40)) await append(repository, text);
    await putScratch(repository, parseRefName('refs/uwf/pins'), { nodes: texts.slice(40).map(textNode), types: [] });
    const hashes = texts.map((text) => textNode(text).hash).toSorted();
    const nodes = repositoryNodes(repository);
    for (const first of '0123456789ABCDEF') {
      const expected = hashes.filter((hash) => hash.startsWith(first));
      expect(await nodes.findByPrefix(first.toLowerCase())).toEqual(expected);
    }
    expect(await nodes.findByPrefix(hashes[0]!)).toEqual([hashes[0]]);
    for (const wrong of ['', 'G', 'u', '!', `${hashes[0]}0`]) {
      await expect(nodes.findByPrefix(wrong)).rejects.toThrow(InvalidNodeHash);
    }
  });

  test('that were put are found without reading again what lists them', async () => {
    const { repository, read } = watched(await open());
    const all = ['1', '2', '3'].map((text) => textNode(text));
    await putScratch(repository, parseRefName('refs/uwf/pins'), { nodes: all, types: [] });
    await append(repository, 'a', 'refs/uwf/scratch/01KTWEWZ760000000000000000');
    const nodes = repositoryNodes(repository);
    await nodes.find(all[0]!.hash);
    read.length = 0;
    const found = [await nodes.find(all[1]!.hash), await nodes.find(textNode('a').hash)];
    expect(read).toEqual(found.map((node) => node!.oid));
  });

  test('that were put and dropped again are not found any more', async () => {
    const repository = await open();
    const ref = parseRefName('refs/uwf/scratch/01KTWEWZ760000000000000000');
    const node = textNode('a');
    await putScratch(repository, ref, { nodes: [node, textNode('b')], types: [] });
    const nodes = repositoryNodes(repository);
    expect(await nodes.find(node.hash)).toBeDefined();
    await removeFromScratch(repository, ref, [node.hash]);
    expect(await nodes.find(node.hash)).toBeUndefined();
    expect(await nodes.findByPrefix(node.hash)).toEqual([]);
  });

  test('are found although a forged index names another blob for the hash', async () => {
    const repository = await open();
    const [a, b] = [textNode('a'), textNode('b')];
    const oid = hashObject({ type: 'blob', data: b.blob });
    await commitNodes(repository, { files: [{ path: 'b.md', node: b }], ref: 'refs/threads/forged-0' });
    await commitNodes(repository, { files: [{ path: 'x.md', hash: a.hash, oid }], ref: 'refs/threads/forged-1' });
    const nodes = repositoryNodes(repository);
    await expect(nodes.find(a.hash)).rejects.toThrow(HashMismatch);
    await append(repository, 'a');
    expect((await nodes.find(a.hash))?.payload).toEqual({ text: 'a' });
  });

  test('are counted by reindex', async () => {
    const repository = await open();
    for (const text of ['a', 'b', 'a']) await append(repository, text);
    const code = await commitFiles(repository, { 'main.c': 'x' });
    const tip = await repository.refs.read(parseRefName(thread));
    await commitNodes(repository, {
      files: [{ path: 'c.md', node: textNode('c') }],
      ref: thread,
      parents: [tip!, code],
    });
    expect(await reindex(repository)).toEqual({ commits: 5, nodes: 3 });
    expect(await reindex(repository)).toEqual({ commits: 5, nodes: 3 });
    expect(await repositoryNodes(repository).find(textNode('b').hash)).toBeDefined();
  });
});

describe('the lookup on disk', () => {
  test('is used by the next process, which reads no commit to find a node', async () => {
    const { temporary, repository } = await onDisk();
    await append(repository, 'a');
    await repositoryNodes(repository).find(textNode('a').hash);
    const other = await temporary.open();
    const blob = hashObject({ type: 'blob', data: textNode('a').blob });
    const objects = { ...other.objects, has: (id: typeof blob) => other.objects.has(id) };
    const onlyBlob: Repository = {
      ...other,
      objects: {
        ...objects,
        read: (id) => (id === blob ? other.objects.read(id) : Promise.reject(new Error(`${id} was read`))),
      },
    };
    expect((await repositoryNodes(onlyBlob).find(textNode('a').hash))?.payload).toEqual({ text: 'a' });
    expectCleanFsck(temporary.dir);
  });

  test('loses nothing when it is deleted, at any moment', async () => {
    const { repository, file } = await onDisk();
    const nodes = repositoryNodes(repository);
    for (const text of ['a', 'b', 'c']) {
      await append(repository, text);
      expect(await nodes.find(textNode(text).hash)).toBeDefined();
      rmSync(file);
      expect(await nodes.find(textNode(text).hash)).toBeDefined();
    }
  });

  test('knows what lies behind a commit even if it was deleted while that commit was taken in', async () => {
    const { temporary, repository, file } = await onDisk();
    await append(repository, 'a');
    await repositoryNodes(repository).find(textNode('a').hash);
    await append(repository, 'b');
    const other = await temporary.open();
    let isDeleted = false;
    const disturbed: Repository = {
      ...other,
      objects: {
        format: other.objects.format,
        has: (id) => other.objects.has(id),
        write: (objects) => other.objects.write(objects),
        close: () => other.objects.close(),
        read: (id) => {
          // The first read is that of the new commit: what it stands on has been looked up by then.
          if (!isDeleted) rmSync(file);
          isDeleted = true;
          return other.objects.read(id);
        },
      },
    };
    expect(await repositoryNodes(disturbed).find(textNode('b').hash)).toBeDefined();
    expect(await repositoryNodes(await temporary.open()).find(textNode('a').hash)).toBeDefined();
  });

  test('merges what was appended, and still finds everything', async () => {
    const { temporary, repository, file } = await onDisk();
    const nodes = repositoryNodes(repository);
    const texts = Array.from({ length: 12_000 }, (_, at) => `text ${at}`);
    const files = texts.map((text, at) => ({ path: `f/${at}.md`, node: textNode(text) }));
    const inodes = new Set<number>();
    for (let at = 0; at < texts.length; at += 500) {
      await commitNodes(repository, { files: files.slice(at, at + 500), ref: `refs/threads/thread-${at}` });
      expect(await nodes.find(textNode(`text ${at}`).hash)).toBeDefined();
      inodes.add(statSync(file).ino);
    }
    expect(inodes.size).toBeGreaterThan(1);
    expect(inodes.size).toBeLessThan(5);
    const fresh = repositoryNodes(await temporary.open());
    const before = statSync(file);
    for (const text of texts.filter((_, at) => at % 97 === 0)) {
      expect((await fresh.find(textNode(text).hash))?.payload).toEqual({ text });
    }
    // Nothing had to be looked up again.
    expect(statSync(file)).toMatchObject({ ino: before.ino, size: before.size });
    expect(await reindex(repository)).toEqual({ commits: 24, nodes: texts.length });
    expect(await reindex(repository)).toEqual({ commits: 24, nodes: texts.length });
  });

  test('is written by several processes at once without losing anything', async () => {
    const { temporary, file } = await onDisk();
    const repositories = await Promise.all(Array.from({ length: 4 }, () => temporary.open()));
    const texts = Array.from({ length: 32 }, (_, at) => `text ${at}`);
    await Promise.all(
      repositories.map(async (repository, writer) => {
        const nodes = repositoryNodes(repository);
        for (const [at, text] of texts.entries()) {
          if (at % 4 !== writer) continue;
          await append(repository, text, `refs/threads/writer-${writer}`);
          expect(await nodes.find(textNode(text).hash)).toBeDefined();
          if (at % 8 === writer) await reindex(repository);
        }
      }),
    );
    for (const repository of repositories) {
      for (const text of texts) expect(await repositoryNodes(repository).find(textNode(text).hash)).toBeDefined();
    }
    expect(existsSync(`${file}.tmp`)).toBe(false);
  });

  test.each<[string, (sound: Buffer) => Buffer]>([
    ['is cut off', (sound) => sound.subarray(0, -1)],
    ['ends within a record that was appended', (sound) => Buffer.concat([sound, sound.subarray(-30, -10)])],
    ['ends with zeros', (sound) => Buffer.concat([sound, Buffer.alloc(100)])],
    ['is empty', () => Buffer.alloc(0)],
    ['is of another form', () => Buffer.from('nonsense that is longer than a header')],
    ['has a changed first line', (sound) => Buffer.from(sound.toString().replace('1 2', '1 9'))],
    ['has zeros in place of its first line', (sound) => zeroed(sound, 0)],
    ['has zeros in place of sorted lines', (sound) => zeroed(sound, 60)],
    ['has zeros in place of appended lines', (sound) => zeroed(sound, sound.length - 100)],
  ])('that %s does no harm', async (_, damage) => {
    const { temporary, repository, file } = await onDisk();
    const find = async (from: Repository, text: string): Promise<unknown> =>
      (await repositoryNodes(from).find(textNode(text).hash))?.payload;
    for (const text of ['a', 'b']) {
      await append(repository, text);
      expect(await find(repository, text)).toEqual({ text });
    }
    writeFileSync(file, damage(readFileSync(file)));
    const other = await temporary.open();
    await append(other, 'c');
    for (const text of ['c', 'b', 'a']) expect(await find(other, text)).toEqual({ text });
    const third = await temporary.open();
    await append(third, 'd');
    for (const text of ['d', 'c', 'b', 'a']) expect(await find(third, text)).toEqual({ text });
    // The process that wrote it before has it open, and goes on with what others have made of it.
    for (const text of ['a', 'd']) expect(await find(repository, text)).toEqual({ text });
    expect(await reindex(repository)).toEqual({ commits: 4, nodes: 4 });
  });

  test('is written in place of what a killed process has left, and not while another one writes', async () => {
    const { temporary, repository, file } = await onDisk();
    await append(repository, 'a');
    mkdirSync(join(temporary.dir, '.git', 'uwf'), { recursive: true });
    writeFileSync(`${file}.tmp`, 'half');
    expect(await repositoryNodes(repository).find(textNode('a').hash)).toBeDefined();
    expect(existsSync(file)).toBe(false);
    expect(readFileSync(`${file}.tmp`, 'utf8')).toBe('half');
    utimesSync(`${file}.tmp`, 0, 0);
    expect(await repositoryNodes(await temporary.open()).find(textNode('a').hash)).toBeDefined();
    expect(existsSync(file)).toBe(true);
    expect(existsSync(`${file}.tmp`)).toBe(false);
  });

  test('that cannot be written is in memory', async () => {
    const { temporary, repository, file } = await onDisk();
    mkdirSync(`${file}.tmp/taken`, { recursive: true });
    mkdirSync(join(temporary.dir, '.git', 'uwf', 'lookup', 'a folder'), { recursive: true });
    const nodes = repositoryNodes(repository);
    const texts = ['a', 'b', 'c'];
    for (const text of texts) {
      await append(repository, text);
      for (const known of texts.slice(0, texts.indexOf(text) + 1)) {
        expect((await nodes.find(textNode(known).hash))?.payload).toEqual({ text: known });
      }
    }
    expect(await reindex(repository)).toEqual({ commits: 3, nodes: 3 });
  });

  test('of a commit is not taken for a node', async () => {
    const { repository } = await onDisk();
    await append(repository, 'a');
    const tip = (await repository.refs.read(parseRefName(thread)))!;
    const hash = base32(BigInt(`0x${tip.slice(0, 16)}`));
    const lookup = lookupOf(repository);
    await lookup.update();
    expect(lookup.knownBlobs(hash)).toEqual([]);
    expect(await repositoryNodes(repository).findByPrefix(hash)).toEqual([]);
  });

  test('does not answer with what git has collected', async () => {
    const { temporary, repository } = await onDisk();
    await append(repository, 'a');
    await append(repository, 'b', 'refs/threads/other');
    expect(await repositoryNodes(repository).find(textNode('a').hash)).toBeDefined();
    // A store that is open may go on reading packs that git has removed.
    await repository.close();
    temporary.git('update-ref', '-d', thread);
    temporary.git('gc', '--quiet', '--prune=now');
    const nodes = repositoryNodes(await temporary.open());
    expect(await nodes.find(textNode('a').hash)).toBeUndefined();
    expect(await nodes.findByPrefix(textNode('a').hash)).toEqual([]);
    expect(await nodes.find(textNode('b').hash)).toBeDefined();
    expectCleanFsck(temporary.dir);
  });
});
