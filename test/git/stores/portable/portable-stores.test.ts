import nodeFs from 'node:fs';
import { join } from 'node:path';
import { openPortableRepository } from '../../../../src/git/stores/portable/open-portable-repository.ts';
import { describeObjectStore } from '../../../contracts/object-store.ts';
import { describeRefStore } from '../../../contracts/ref-store.ts';
import type { StoreFixture } from '../../../contracts/store-fixture.ts';
import { createMemoryRepository, expectCleanMemory } from '../../../helpers/memory-repository.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../../helpers/temporary-repository.ts';

async function inMemory(): Promise<StoreFixture> {
  const memory = await createMemoryRepository();
  return {
    objects: memory.repository.objects,
    refs: memory.repository.refs,
    reopen: () => openPortableRepository({ fs: memory.fs, gitdir: memory.gitdir }),
    // memfs has Node's functions under Node's names; its types differ in overloads that the suites don't use.
    fs: memory.fs as unknown as StoreFixture['fs'],
    gitdir: memory.gitdir,
    expectSound: () => expectCleanMemory(memory),
  };
}

/** With `fs.promises` hidden, Node's file system is one with callbacks. */
const { promises: _promises, ...callbackFs } = nodeFs;

function onDisk(fs: typeof nodeFs | typeof callbackFs): () => Promise<StoreFixture> {
  return async () => {
    const { dir } = createTemporaryRepository();
    const { objects, refs } = await openPortableRepository({ fs, dir });
    return {
      objects,
      refs,
      reopen: () => openPortableRepository({ fs, dir }),
      fs: nodeFs,
      gitdir: join(dir, '.git'),
      expectSound: () => expectCleanFsck(dir),
    };
  };
}

for (const [name, create] of [
  ['portable in memory', inMemory],
  ['portable over fs.promises', onDisk(nodeFs)],
  ['portable over fs with callbacks', onDisk(callbackFs)],
] as const) {
  describeObjectStore(name, create);
  describeRefStore(name, create);
}
