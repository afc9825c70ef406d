import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { hashObject } from '../../../../src/git/format/object-id.ts';
import type { GitObject, ObjectId } from '../../../../src/git/format/object-id.ts';
import { DiskObjectStore } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import { encodePack, encodePackIndex } from '../../../../src/git/stores/disk/pack-writer.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

let dir: string;
let store: DiskObjectStore;
let reads: number;

beforeEach(() => {
  const commonDir = createTemporaryFolder();
  dir = join(commonDir, 'objects', 'pack');
  mkdirSync(dir, { recursive: true });
  store = new DiskObjectStore(commonDir, {});
  reads = 0;
  return () => store.close();
});

/** Writes a pack of one blob. */
function write(name: string, text: string): ObjectId {
  const object: GitObject = { type: 'blob', data: Buffer.from(text) };
  const chunks: Uint8Array[] = [];
  const packing = encodePack([object]);
  for (let next = packing.next(); ; next = packing.next()) {
    if (next.done === true) {
      writeFileSync(join(dir, `${name}.pack`), Buffer.concat(chunks));
      writeFileSync(join(dir, `${name}.idx`), encodePackIndex(next.value));
      return hashObject(object);
    }
    chunks.push(next.value);
  }
}

/** Sets the time of the folder so far back that the folder counts as settled. */
function settle(): void {
  utimesSync(dir, 1_795_262_400, 1_795_262_400);
}

describe('a folder of packs', () => {
  test('has the packs that have an index, and no others', async () => {
    const [a, long] = [write('pack-a', 'a'), write('pack-long', 'long')];
    const others = ['pack-', 'x-pack-d', 'tmp_pack_b', 'pack-no-pack', 'pack-no-index'].map((name) =>
      write(name, name),
    );
    rmSync(join(dir, 'pack-no-pack.pack'));
    renameSync(join(dir, 'pack-no-index.idx'), join(dir, 'pack-no-index.idx.new'));
    expect([await store.has(a), await store.has(long)]).toEqual([true, true]);
    for (const id of others) expect(await store.has(id)).toBe(false);
  });

  test('is empty where there is none, or where it is removed just then', async () => {
    const id = write('pack-a', 'a');
    failFs('readdirSync', { code: 'ENOENT', times: 2 });
    expect([await store.has(id), await store.has(id)]).toEqual([false, true]);
    rmSync(dir, { recursive: true });
    expect(await store.has(hashObject({ type: 'blob', data: Buffer.from('other') }))).toBe(false);
    expect(await new DiskObjectStore(join(dir, 'none'), {}).has(id)).toBe(false);
  });

  test('whose pack is replaced is listed again', async () => {
    const id = write('pack-a', 'a');
    settle();
    await store.read(id);
    await store.close();
    for (const ending of ['idx', 'pack']) renameSync(join(dir, `pack-a.${ending}`), join(dir, `pack-b.${ending}`));
    settle();
    expect((await store.read(id))?.type).toBe('blob');
  });

  test('that has not changed for a while is read once; one that has just changed may change again', async () => {
    failFs('readdirSync', { code: 'never', where: (path) => path === dir && ((reads += 1), false) });
    write('pack-a', 'a');
    const absent = hashObject({ type: 'blob', data: Buffer.from('absent') });
    const readsOf = async (): Promise<number> => {
      reads = 0;
      expect(await store.has(absent)).toBe(false);
      return reads;
    };
    // Far in the future, so that it is recent however long the test takes.
    utimesSync(dir, Date.now() / 1000 + 1000, Date.now() / 1000 + 1000);
    expect([await readsOf(), await readsOf()]).toEqual([2, 1]);
    settle();
    expect([await readsOf(), await readsOf()]).toEqual([1, 0]);
    const id = write('pack-b', 'b');
    expect([await store.has(id), await readsOf()]).toEqual([true, 1]);
  });
});
