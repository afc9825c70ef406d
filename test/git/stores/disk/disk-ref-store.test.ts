import { existsSync, linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { StorageReadOnly } from '../../../../src/git/format/object-errors.ts';
import { DiskRefStore } from '../../../../src/git/stores/disk/disk-ref-store.ts';
import { formatIdentity, ownIdentity } from '../../../../src/git/system/process-identity.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

let commonDir: string;
let refs: DiskRefStore;

beforeEach(() => {
  commonDir = createTemporaryFolder();
  refs = new DiskRefStore({ gitDir: commonDir, commonDir, workTree: undefined }, 0);
});

test('the locks of processes that have ended are removed, so that git is not blocked', async () => {
  const name = `${formatIdentity({ ...ownIdentity(), startTime: '1' })}@0123456789abcdef@refs%2Fone.lock`;
  const [record, lock] = [join(commonDir, 'uwf', 'locks', name), join(commonDir, 'refs', 'one.lock')];
  for (const folder of ['uwf/locks', 'refs']) mkdirSync(join(commonDir, folder), { recursive: true });
  writeFileSync(record, `${name}\n`);
  linkSync(record, lock);
  await refs.removeStaleLocks();
  expect([record, lock].map((path) => existsSync(path))).toEqual([false, false]);
});

test('locks that cannot be read are an error of the repository', async () => {
  failFs('readdirSync', { code: 'EACCES' });
  await expect(refs.removeStaleLocks()).rejects.toThrow(StorageReadOnly);
  await expect(refs.removeStaleLocks()).rejects.toMatchObject({ path: commonDir });
});
