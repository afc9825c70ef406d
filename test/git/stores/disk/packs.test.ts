import { execFileSync } from 'node:child_process';
import { ftruncateSync, openSync, readdirSync, readFileSync, closeSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodePack, encodePackIndex } from '../../../../src/git/stores/disk/pack-writer.ts';
import { openDiskStores } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import { CorruptObject, ObjectTooLarge } from '../../../../src/git/format/errors.ts';
import { hashObject, parseObjectId } from '../../../../src/git/format/object-id.ts';
import type { GitObject, ObjectId } from '../../../../src/git/format/object-id.ts';
import type { ObjectStore } from '../../../../src/git/repository.ts';
import { blob } from '../../../contracts/store-fixture.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
  runGit,
} from '../../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../../helpers/temporary-repository.ts';

function objectsOf(repository: TemporaryRepository): ObjectStore {
  const gitDir = join(repository.dir, '.git');
  return openDiskStores({ gitDir, commonDir: gitDir, workTree: repository.dir }).objects;
}

/** A history whose files and trees differ little from one commit to the next, so that git makes chains of deltas. */
function createHistory(commits: number): TemporaryRepository {
  const repository = createTemporaryRepository();
  const lines = Array.from({ length: 200 }, (_, number) => `line ${number} of the file ${number * number}`);
  const stream: string[] = [];
  for (let number = 0; number < commits; number++) {
    lines[(number * 7) % lines.length] = `changed in ${number}`;
    const content = `${lines.join('\n')}\n`;
    stream.push(
      'commit refs/heads/main',
      `committer A U Thor <author@example.com> ${1_795_262_400 + number} +0000`,
      `data ${Buffer.byteLength(`commit ${number}`)}\ncommit ${number}`,
      `M 100644 inline folder/file-${number % 5}`,
      `data ${Buffer.byteLength(content)}\n${content}`,
    );
  }
  stream.push('done', '');
  runGit(repository.dir, ['fast-import', '--quiet', '--done'], stream.join('\n'));
  runGit(repository.dir, ['tag', '-a', '-m', 'a tag', 'v1', 'main']);
  return repository;
}

function allIds(repository: TemporaryRepository): ObjectId[] {
  return repository
    .git('cat-file', '--batch-all-objects', '--batch-check=%(objectname)')
    .split('\n')
    .map(parseObjectId);
}

async function expectSameAsGit(repository: TemporaryRepository): Promise<void> {
  const store = objectsOf(repository);
  const ids = allIds(repository);
  expect(ids.length).toBeGreaterThan(0);
  const output = execFileSync('git', ['cat-file', '--batch'], {
    cwd: repository.dir,
    env: isolatedGitEnvironment,
    input: `${ids.join('\n')}\n`,
    maxBuffer: 1024 * 1024 * 1024,
  });
  let at = 0;
  for (const id of ids) {
    const headEnd = output.indexOf('\n', at);
    const [, type, size] = output.toString('utf8', at, headEnd).split(' ');
    const data = output.subarray(headEnd + 1, headEnd + 1 + Number(size));
    at = headEnd + 1 + Number(size) + 1;
    const object = await store.read(id);
    expect(object?.type).toBe(type);
    expect(Buffer.compare(object!.data, data)).toBe(0);
    expect(await store.has(id)).toBe(true);
  }
  await store.close();
}

describe('packs that git made', () => {
  test.each([
    ['bases by offset', ['-c', 'repack.useDeltaBaseOffset=true', 'repack', '-adfq', '--depth=50']],
    ['bases by id', ['-c', 'repack.useDeltaBaseOffset=false', 'repack', '-adfq', '--depth=50']],
    ['very long chains', ['repack', '-adfq', '--depth=4000', '--window=20']],
    ['an index of version 1', ['-c', 'pack.indexVersion=1', 'repack', '-adfq']],
  ])('are read as git reads them: %s', async (_what, command) => {
    const repository = createHistory(120);
    repository.git(...command);
    expect(repository.git('count-objects', '-v')).toMatch(/^count: 0$/m);
    const pack = packsOf(repository)[0]!;
    expect(repository.git('verify-pack', '-v', pack)).toMatch(/chain length = [1-9]/);
    await expectSameAsGit(repository);
  });

  test('are read when the index holds its offsets in 64 bits', async () => {
    const repository = createHistory(40);
    repository.git('repack', '-adfq');
    const pack = packsOf(repository)[0]!;
    execFileSync('chmod', ['u+w', `${pack}.idx`]);
    repository.git('index-pack', '--index-version=2,0x40', '-o', `${pack}.idx`, `${pack}.pack`);
    await expectSameAsGit(repository);
  });

  test('are read when there are many, and alternates of alternates beside them', async () => {
    const far = createHistory(10);
    far.git('repack', '-adq');
    const near = createTemporaryRepository();
    writeFileSync(
      join(near.dir, '.git', 'objects', 'info', 'alternates'),
      `# far\n${join(far.dir, '.git', 'objects')}\n`,
    );
    runGit(near.dir, ['hash-object', '-w', '--stdin'], 'loose, near');
    const repository = createTemporaryRepository();
    const alternates = join(repository.dir, '.git', 'objects', 'info', 'alternates');
    writeFileSync(alternates, `"${join(near.dir, '.git', 'objects').replace('git', '\\147it')}"\n`);
    const store = objectsOf(repository);
    for (let number = 0; number < 80; number++) await (await store.write([blob(`pack ${number}`)])).release();
    await expectSameAsGit(repository);
    expectCleanFsck(repository.dir);
  });

  test('give an object behind deltas only if it is not larger than allowed', async () => {
    const repository = createHistory(60);
    repository.git('repack', '-adfq', '--depth=50');
    const store = objectsOf(repository);
    const deltas = repository
      .git('verify-pack', '-v', packsOf(repository)[0]!)
      .split('\n')
      .filter((line) => /^[0-9a-f]{40} blob +\d+ \d+ \d+ [1-9]/.test(line))
      .map((line) => parseObjectId(line.slice(0, 40)));
    expect(deltas.length).toBeGreaterThan(10);
    for (const id of deltas) {
      const size = Number(repository.git('cat-file', '-s', id));
      expect((await store.read(id, { maxBytes: size }))?.data.byteLength).toBe(size);
      await expect(store.read(id, { maxBytes: size - 1 })).rejects.toThrow(ObjectTooLarge);
      await expect(store.read(id, { maxBytes: size - 1 })).rejects.toMatchObject({ id, bytes: size });
    }
  });

  test('of more than 2 GiB are read by position', async () => {
    const repository = createTemporaryRepository();
    const object = blob('far behind in a large pack');
    const entries = [...encodePack([object])];
    const offset = 3 * 1024 ** 3;
    const path = join(repository.dir, '.git', 'objects', 'pack', `pack-${'ab'.repeat(20)}`);
    const descriptor = openSync(`${path}.pack`, 'w');
    // All but the ends of it is a hole, which takes no space.
    writeSync(descriptor, entries[0]!);
    writeSync(descriptor, entries[1]!, 0, entries[1]!.byteLength, offset);
    ftruncateSync(descriptor, offset + entries[1]!.byteLength + 20);
    closeSync(descriptor);
    const index = encodePackIndex({
      entries: [
        { id: hashObject(object), offset, crc32: 0 },
        { id: hashObject(blob('near')), offset: 12, crc32: 0 },
      ],
      checksum: Buffer.alloc(20),
    });
    writeFileSync(`${path}.idx`, index);
    const store = objectsOf(repository);
    expect(Buffer.from((await store.read(hashObject(object)))!.data).toString()).toBe('far behind in a large pack');
    await store.close();
  });
});

describe('packs that uwf makes', () => {
  test('satisfy index-pack and verify-pack, and git reads every object back', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 20_000 }), { minLength: 1, maxLength: 30 }),
        async (contents) => {
          const repository = createTemporaryRepository();
          const objects = contents.map((data): GitObject => ({ type: 'blob', data }));
          await (await objectsOf(repository).write(objects)).release();
          const [pack, ...more] = packsOf(repository);
          expect(more).toEqual([]);
          repository.git('index-pack', '--strict', '--verify', `${pack}.pack`);
          repository.git('verify-pack', `${pack}.idx`);
          for (const id of objects.map((object) => hashObject(object)))
            expect(repository.git('cat-file', '-t', id)).toBe('blob');
          await expectSameAsGit(repository);
          expectCleanFsck(repository.dir);
          repository.remove();
        },
      ),
      { numRuns: 5 },
    );
  });

  test('are indexed as git would index them', async () => {
    const repository = createTemporaryRepository();
    const objects = Array.from({ length: 700 }, (_, number) => blob(`object ${number}`));
    await (await objectsOf(repository).write(objects)).release();
    const pack = packsOf(repository)[0]!;
    repository.git('index-pack', '-o', join(repository.dir, 'by-git.idx'), `${pack}.pack`);
    expect(Buffer.compare(readFileSync(join(repository.dir, 'by-git.idx')), readFileSync(`${pack}.idx`))).toBe(0);
  });
});

describe('a damaged pack', () => {
  test('gives the right object, none, or an error that names it; never another one', async () => {
    const repository = createHistory(30);
    repository.git('repack', '-adfq', '--depth=50');
    const ids = allIds(repository);
    const sizes = new Map(ids.map((id) => [id, Number(repository.git('cat-file', '-s', id))]));
    const source = packsOf(repository)[0]!;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('pack', 'idx'),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        fc.option(fc.nat(), { freq: 4 }),
        async (part, where, flip, cutAt) => {
          const damaged = createTemporaryRepository();
          const target = join(damaged.dir, '.git', 'objects', 'pack', `pack-${'cd'.repeat(20)}`);
          for (const ending of ['pack', 'idx']) {
            const bytes = readFileSync(`${source}.${ending}`);
            if (ending === part) bytes[where % bytes.length]! ^= flip;
            const length = ending === part && cutAt !== null ? cutAt % bytes.length : bytes.length;
            writeFileSync(`${target}.${ending}`, bytes.subarray(0, length));
          }
          const store = objectsOf(damaged);
          for (const id of ids) {
            try {
              const object = await store.read(id, { maxBytes: 1_000_000 });
              if (object !== undefined) expect(object.data.byteLength).toBe(sizes.get(id));
              if (object !== undefined) expect(hashObject(object)).toBe(id);
            } catch (error) {
              if (!(error instanceof ObjectTooLarge)) expect(error).toBeInstanceOf(CorruptObject);
              expect(error).toMatchObject({ id });
            }
          }
          await store.close();
          damaged.remove();
        },
      ),
      { numRuns: 60 },
    );
  });

  test('does not hide a sound copy elsewhere', async () => {
    const repository = createTemporaryRepository();
    const object = blob('there are two of it');
    const store = objectsOf(repository);
    await (await store.write([object])).release();
    const broken = `${packsOf(repository)[0]!}.pack`;
    const bytes = readFileSync(broken);
    bytes[20]! ^= 0xff;
    execFileSync('chmod', ['u+w', broken]);
    writeFileSync(broken, bytes);
    await expect(objectsOf(repository).read(hashObject(object))).rejects.toThrow(CorruptObject);
    await (await store.write([object])).release();
    expect(await objectsOf(repository).read(hashObject(object))).toBeDefined();
  });

  test('whose deltas go in a circle ends in an error', async () => {
    const repository = createTemporaryRepository();
    const [one, two] = [hashObject(blob('one')), hashObject(blob('two'))];
    // Two deltas by id, each the other's base: type 7, size 4, base, an empty zlib stream of four bytes.
    const delta = (base: ObjectId): Buffer =>
      Buffer.concat([
        Buffer.from([0x74]),
        Buffer.from(base, 'hex'),
        Buffer.from('789c010400fbff0303900300', 'hex'),
        Buffer.alloc(8),
      ]);
    const first = delta(two);
    const head = Buffer.from('PACK\0\0\0\x02\0\0\0\x02', 'latin1');
    const path = join(repository.dir, '.git', 'objects', 'pack', `pack-${'ef'.repeat(20)}`);
    writeFileSync(`${path}.pack`, Buffer.concat([head, first, delta(one), Buffer.alloc(20)]));
    const entries = [
      { id: one, offset: 12, crc32: 0 },
      { id: two, offset: 12 + first.byteLength, crc32: 0 },
    ];
    writeFileSync(`${path}.idx`, encodePackIndex({ entries, checksum: Buffer.alloc(20) }));
    await expect(objectsOf(repository).read(one)).rejects.toThrow(/does not end/);
  });
});

function packsOf({ dir }: TemporaryRepository): string[] {
  const folder = join(dir, '.git', 'objects', 'pack');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.pack'))
    .map((name) => join(folder, name.slice(0, -'.pack'.length)));
}
