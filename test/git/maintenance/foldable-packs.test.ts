import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { listSmallPacks } from '../../../src/git/maintenance/foldable-packs.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

test.each([
  ['before it begins', 2000n, 1000n],
  ['behind the end of the file', 1000n, 2n ** 60n],
])('packs beside a multi-pack-index whose names end %s are left alone', (_, from, to) => {
  const folder = join(createTemporaryFolder(), 'pack');
  mkdirSync(folder);
  const index = Buffer.alloc(4000);
  index.write('PNAM', 12);
  index.writeBigUInt64BE(from, 16);
  index.writeBigUInt64BE(to, 28);
  writeFileSync(join(folder, 'multi-pack-index'), index);
  expect(listSmallPacks(folder, 1000)).toEqual([]);
});
