import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { hashObject } from '../../../../src/git/format/object-id.ts';
import type { GitObject } from '../../../../src/git/format/object-id.ts';
import { ObjectTooLarge } from '../../../../src/git/format/errors.ts';
import { DiskObjectStore } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

const object: GitObject = { type: 'blob', data: Buffer.from('a reply') };
const id = hashObject(object);

test('the first access may be of any kind; the next ones are of the same store', async () => {
  const dir = createTemporaryFolder();
  const writing = new DiskObjectStore(dir, {});
  for (let time = 0; time < 2; time += 1) await (await writing.write([object])).release();
  const [reading, asking] = [new DiskObjectStore(dir, {}), new DiskObjectStore(dir, {})];
  for (let time = 0; time < 2; time += 1) {
    expect(await asking.has(id)).toBe(true);
    expect((await reading.read(id))?.data).toEqual(object.data);
    await expect(reading.read(id, { maxBytes: 6 })).rejects.toThrow(ObjectTooLarge);
    expect(await writing.has(id)).toBe(true);
  }
  await expect(new DiskObjectStore(dir, {}).read(id, { maxBytes: 6 })).rejects.toThrow(ObjectTooLarge);
  expect(await new DiskObjectStore(createTemporaryFolder(), { GIT_OBJECT_DIRECTORY: `${dir}/objects` }).has(id)).toBe(
    true,
  );
  expect(reading.format).toBe('sha1');
  // Its pack and its index.
  let closed = 0;
  failFs('closeSync', { code: 'never', where: () => ((closed += 1), false) });
  await reading.close();
  expect(closed).toBe(2);
  for (const store of [writing, asking]) await store.close();
});

test('a store that was not used closes and leaves nothing', async () => {
  const dir = createTemporaryFolder();
  await new DiskObjectStore(dir, {}).close();
  expect(readdirSync(dir)).toEqual([]);
});
