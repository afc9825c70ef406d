import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { CONTENT_TYPE } from '../../../src/cas/frozen-types.ts';
import { InvalidNodeHash, prepareHashing } from '../../../src/cas/hash.ts';
import { lookupOf, reindex, repositoryNodes } from '../../../src/cas/lookup/repository-nodes.ts';
import { HashMismatch } from '../../../src/cas/node.ts';
import { putScratch, removeFromScratch } from '../../../src/cas/scratch.ts';
import { hashObject } from '../../../src/git/format/object-id.ts';
import { parseRefName } from '../../../src/git/format/ref-name.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { createMemoryRepository } from '../../helpers/memory-repository.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../helpers/temporary-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { commitFiles, commitNodes, textNode } from '../commit-of-nodes.ts';

beforeAll(prepareHashing);

const thread = 'refs/threads/01KTWEWZ760000000000000000';

async function onDisk(): Promise<{ temporary: TemporaryRepository; repository: Repository; folder: string }> {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  return { temporary, repository, folder: join(temporary.dir, '.git', 'uwf', 'lookup') };
}

const segments = (folder: string): string[] => readdirSync(folder).filter((name) => name.endsWith('.segment'));

/** Appends a commit with one node of this text to the thread. */
async function append(repository: Repository, text: string, ref = thread): Promise<void> {
  const tip = await repository.refs.read(parseRefName(ref));
  const files = [{ path: 'output.md', node: textNode(text) }];
  await commitNodes(repository, { files, ref, parents: tip === undefined ? [] : [tip] });
}

test('the lookup tells of a commit and all before it only while it has them', async () => {
  const { repository, folder } = await onDisk();
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
  for (const name of segments(folder)) truncateSync(join(folder, name), 100);
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
    // More than the indexes that are kept for all readers.
    const all = Array.from({ length: 5000 }, (_, at) => textNode(`${at}`));
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
    const { repository, folder } = await onDisk();
    const nodes = repositoryNodes(repository);
    for (const text of ['a', 'b', 'c']) {
      await append(repository, text);
      expect(await nodes.find(textNode(text).hash)).toBeDefined();
      rmSync(folder, { recursive: true });
      expect(await nodes.find(textNode(text).hash)).toBeDefined();
    }
  });

  test('knows what lies behind a commit even if it was deleted while that commit was taken in', async () => {
    const { temporary, repository, folder } = await onDisk();
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
          if (!isDeleted) rmSync(folder, { recursive: true });
          isDeleted = true;
          return other.objects.read(id);
        },
      },
    };
    expect(await repositoryNodes(disturbed).find(textNode('b').hash)).toBeDefined();
    expect(await repositoryNodes(await temporary.open()).find(textNode('a').hash)).toBeDefined();
  });

  test('merges its segments, and still finds everything', async () => {
    const { temporary, repository, folder } = await onDisk();
    const nodes = repositoryNodes(repository);
    const texts = Array.from({ length: 40 }, (_, at) => `text ${at}`);
    for (const text of texts) {
      await append(repository, text);
      expect(await nodes.find(textNode(text).hash)).toBeDefined();
      expect(segments(folder).length).toBeLessThanOrEqual(9);
    }
    const fresh = repositoryNodes(await temporary.open());
    const before = segments(folder);
    for (const text of texts) expect(await fresh.find(textNode(text).hash)).toBeDefined();
    // Nothing had to be looked up again.
    expect(segments(folder)).toEqual(before);
    await reindex(repository);
    expect(segments(folder)).toHaveLength(1);
  });

  test('is written by several processes at once without losing anything', async () => {
    const { temporary, folder } = await onDisk();
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
    expect(readdirSync(folder).filter((name) => name.startsWith('tmp-'))).toEqual([]);
  });

  test('takes no harm from what a killed process or a full disk left behind', async () => {
    const { temporary, repository, folder } = await onDisk();
    await append(repository, 'a');
    await repositoryNodes(repository).find(textNode('a').hash);
    const [name] = segments(folder);
    const whole = readFileSync(join(folder, name!));
    truncateSync(join(folder, name!), whole.length - 1);
    writeFileSync(join(folder, 'ffff.segment'), '');
    writeFileSync(join(folder, 'dddd.segment'), 'nonsense that is longer than a header');
    const nodes = repositoryNodes(await temporary.open());
    expect(await nodes.find(textNode('a').hash)).toBeDefined();
    const abandoned = join(folder, 'tmp-abandoned');
    const busy = join(folder, 'tmp-busy');
    for (const path of [abandoned, busy]) writeFileSync(path, '');
    utimesSync(abandoned, 0, 0);
    await append(repository, 'b');
    expect(await nodes.find(textNode('b').hash)).toBeDefined();
    expect(readdirSync(folder)).not.toContain('tmp-abandoned');
    expect(readdirSync(folder)).toContain('tmp-busy');
  });

  test('finds nodes where its folder cannot be made', async () => {
    const { temporary, repository } = await onDisk();
    mkdirSync(join(temporary.dir, '.git', 'uwf'), { recursive: true });
    writeFileSync(join(temporary.dir, '.git', 'uwf', 'lookup'), 'a file');
    await append(repository, 'a');
    const nodes = repositoryNodes(repository);
    expect(await nodes.find(textNode('a').hash)).toBeDefined();
    await append(repository, 'b');
    expect(await nodes.find(textNode('b').hash)).toBeDefined();
    expect(await nodes.find(textNode('a').hash)).toBeDefined();
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

  test('reads large segments a record at a time', async () => {
    const { temporary, repository, folder } = await onDisk();
    const files = Array.from({ length: 10_000 }, (_, at) => ({ path: `f/${at}.md`, node: textNode(`large ${at}`) }));
    await commitNodes(repository, { files, ref: thread });
    const nodes = repositoryNodes(repository);
    expect(await nodes.find(textNode('large 1').hash)).toBeDefined();
    expect(readFileSync(join(folder, segments(folder)[0]!)).length).toBeGreaterThan(256 * 1024);
    const fresh = repositoryNodes(await temporary.open());
    for (let at = 0; at < 10_000; at += 997) {
      expect((await fresh.find(textNode(`large ${at}`).hash))?.type).toBe(CONTENT_TYPE);
    }
  });
});
