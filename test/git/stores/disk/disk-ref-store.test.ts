import { existsSync, linkSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { StorageReadOnly } from '../../../../src/git/format/object-errors.ts';
import type { ObjectId } from '../../../../src/git/format/object-id.ts';
import { parseRefName } from '../../../../src/git/format/ref-name.ts';
import { openDiskRefs } from '../../../../src/git/stores/disk/disk-ref-store.ts';
import { formatIdentity, ownIdentity } from '../../../../src/git/system/process-identity.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

const name = parseRefName('refs/threads/a');
const [one, two] = ['1', '2'].map((digit) => digit.repeat(40)) as [ObjectId, ObjectId];
let commonDir: string;
let refs: ReturnType<typeof openDiskRefs>;

beforeEach(() => {
  commonDir = createTemporaryFolder();
  refs = openDiskRefs({ gitDir: commonDir, commonDir, workTree: undefined }, 0);
});

test('refs are changed, read and listed; packed refs are opened again after the store was closed', async () => {
  await refs.update([{ name, expected: null, value: one }]);
  expect(await refs.read(name)).toBe(one);
  writeFileSync(join(commonDir, 'packed-refs'), `${two} refs/threads/b\n`);
  const all = [
    { name, id: one },
    { name: 'refs/threads/b', id: two },
  ];
  expect(await refs.list('refs/threads/')).toEqual(all);
  let closed = 0;
  failFs('closeSync', { code: 'never', where: () => ((closed += 1), false) });
  refs.close();
  expect(closed).toBe(1);
  expect(await refs.list('refs/threads/')).toEqual(all);
  expect(await refs.list('refs/threads/', { last: 1 })).toEqual(all.slice(1));
  refs.close();
});

test('a change that loses its lock is made again, by the values of now', async () => {
  await refs.update([{ name, expected: null, value: one }]);
  let renames = 0;
  const loseFirstLock = (): boolean => {
    renames += 1;
    if (renames === 1) for (const path of ['uwf', `${name}.lock`]) rmSync(join(commonDir, path), { recursive: true });
    return false;
  };
  failFs('renameSync', { code: 'never', where: loseFirstLock });
  await refs.update([{ name, expected: one, value: two }]);
  expect([await refs.read(name), renames]).toEqual([two, 2]);
});

test('a change of no ref takes no lock and leaves no file', async () => {
  await refs.update([]);
  expect(readdirSync(commonDir)).toEqual([]);
});

test('no ref is changed where git keeps objects in quarantine until it accepts a push', async () => {
  const waiting = openDiskRefs({ gitDir: commonDir, commonDir, workTree: undefined }, 0, true);
  await expect(waiting.update([{ name, expected: null, value: one }])).rejects.toMatchObject({ code: 'in-quarantine' });
  expect(await refs.read(name)).toBeUndefined();
});

test('the locks of processes that have ended are removed, so that git is not blocked', async () => {
  const record = `${formatIdentity({ ...ownIdentity(), startTime: '1' })}@0123456789abcdef@refs%2Fone.lock`;
  const [path, lock] = [join(commonDir, 'uwf', 'locks', record), join(commonDir, 'refs', 'one.lock')];
  for (const folder of ['uwf/locks', 'refs']) mkdirSync(join(commonDir, folder), { recursive: true });
  writeFileSync(path, `${record}\n`);
  linkSync(path, lock);
  await refs.removeStaleLocks();
  expect([path, lock].map((file) => existsSync(file))).toEqual([false, false]);
});

test('locks that cannot be read are an error of the repository', async () => {
  failFs('readdirSync', { code: 'EACCES' });
  await expect(refs.removeStaleLocks()).rejects.toThrow(StorageReadOnly);
  await expect(refs.removeStaleLocks()).rejects.toMatchObject({ path: commonDir });
});
