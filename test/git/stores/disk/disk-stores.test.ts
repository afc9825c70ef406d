import nodeFs from 'node:fs';
import { join } from 'node:path';
import { openDiskStores } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import type { DiskStores } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import { describeObjectStore } from '../../../contracts/object-store.ts';
import { describeRefStore } from '../../../contracts/ref-store.ts';
import type { StoreFixture } from '../../../contracts/store-fixture.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../../helpers/temporary-repository.ts';

async function createFixture(): Promise<StoreFixture> {
  const { dir } = createTemporaryRepository();
  const gitDir = join(dir, '.git');
  const open = (): DiskStores => openDiskStores({ gitDir, commonDir: gitDir, workTree: dir });
  const { objects, refs } = open();
  return {
    objects,
    refs,
    reopen: async () => open(),
    fs: nodeFs,
    gitdir: gitDir,
    expectSound: () => expectCleanFsck(dir),
  };
}

describeObjectStore('disk', createFixture);
describeRefStore('disk', createFixture);
