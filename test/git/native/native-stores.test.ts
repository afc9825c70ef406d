import nodeFs from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openNativeStores } from '../../../src/git/native/open-native-stores.ts';
import type { NativeStores } from '../../../src/git/native/open-native-stores.ts';
import type { ObjectFormat } from '../../../src/git/object-id.ts';
import { describeObjectStore } from '../../contracts/object-store.ts';
import { describeRefStore } from '../../contracts/ref-store.ts';
import type { StoreFixture } from '../../contracts/store-fixture.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
} from '../../helpers/temporary-repository.ts';

function fixtureOf(format: ObjectFormat): () => Promise<StoreFixture> {
  return async () => {
    const { dir } = createTemporaryRepository({ objectFormat: format });
    const gitDir = join(dir, '.git');
    const open = (): NativeStores => {
      const location = { gitDir, commonDir: gitDir, workTree: dir };
      const stores = openNativeStores(location, { env: isolatedGitEnvironment, format });
      onTestFinished(() => stores.close());
      return stores;
    };
    const { objects, refs } = open();
    return {
      objects,
      refs,
      reopen: async () => open(),
      fs: nodeFs,
      gitdir: gitDir,
      expectSound: () => expectCleanFsck(dir),
    };
  };
}

for (const format of ['sha1', 'sha256'] as const) {
  describeObjectStore(`native (${format})`, fixtureOf(format));
  describeRefStore(`native (${format})`, fixtureOf(format));
}
