import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeTemporaryFiles } from '../../../src/git/maintenance/repack.ts';
import { formatIdentity, ownIdentity } from '../../../src/git/system/process-identity.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

test('temporary files of packs and objects go once nothing was written to them for a day, and nothing else does', () => {
  const folder = createTemporaryFolder();
  const left = [
    'pack/tmp_pack_a1B2c3',
    'pack/tmp_idx_a1B2c3',
    'pack/.tmp-4711-pack-0123.idx',
    'tmp_obj_a1B2c3',
    'ab/tmp_obj_x',
  ];
  const others = ['pack/pack-0123.pack', 'pack/pack-0123.keep', 'ab/tmp_pack_x', 'ab/0123456789', 'info/tmp_obj_x'];
  for (const sub of ['pack', 'ab', 'info']) mkdirSync(join(folder, sub));
  const dayBefore = Date.now() / 1000 - 25 * 3600;
  for (const name of [...left, ...others]) {
    writeFileSync(join(folder, name), '');
    utimesSync(join(folder, name), dayBefore, dayBefore);
  }
  writeFileSync(join(folder, 'pack/tmp_pack_young'), '');
  expect(removeTemporaryFiles(folder)).toHaveLength(left.length);
  for (const name of left) expect(existsSync(join(folder, name))).toBe(false);
  for (const name of [...others, 'pack/tmp_pack_young']) expect(existsSync(join(folder, name))).toBe(true);
  expect(readdirSync(join(folder, 'ab'))).toHaveLength(2);
});

test('the temporary file of a keep goes as soon as its process has ended', () => {
  const folder = createTemporaryFolder();
  mkdirSync(join(folder, 'pack'));
  const [left, own] = [join(folder, 'pack/tmp_keep_0a'), join(folder, 'pack/tmp_keep_0b')];
  writeFileSync(own, `uwf ${formatIdentity(ownIdentity())}\n`);
  writeFileSync(left, `uwf ${formatIdentity({ ...ownIdentity(), pid: 2 ** 22 + 1 })}\n`);
  expect(removeTemporaryFiles(folder)).toEqual([{ path: left, bytes: expect.any(Number) }]);
  expect(readdirSync(join(folder, 'pack'))).toEqual(['tmp_keep_0b']);
});
