import type * as NodeFs from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { packWriter } from '../../../src/git/stores/disk/pack-writer.ts';
import { Quarantine } from '../../../src/git/stores/quarantine.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import { writeChain } from '../../helpers/commit-chain.ts';
import { createTemporaryRepository, runGit } from '../../helpers/temporary-repository.ts';

const { calls } = vi.hoisted(() => ({ calls: [] as string[] }));

/** Records what brings files and the names in folders to the disk, in its order. */
vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof NodeFs>();
  const paths = new Map<number, string>();
  const recorded = {
    openSync(path: string, ...rest: [NodeFs.OpenMode, NodeFs.Mode?]) {
      const descriptor = fs.openSync(path, ...rest);
      paths.set(descriptor, path);
      return descriptor;
    },
    fsyncSync(descriptor: number) {
      calls.push(`sync ${shown(paths.get(descriptor) ?? '')}`);
      fs.fsyncSync(descriptor);
    },
    renameSync(from: string, to: string) {
      calls.push(`rename ${shown(to)}`);
      fs.renameSync(from, to);
    },
  };
  return { ...fs, ...recorded, default: { ...fs, ...recorded } };
});

/** A path without what differs each time. */
function shown(path: string): string {
  return basename(path).replace(/^pack-[0-9a-f]+/, 'pack-*');
}

beforeEach(() => {
  calls.length = 0;
});

test('a pack is on the disk before its index, and both before the folder that names them', () => {
  const { dir } = createTemporaryRepository();
  packWriter(join(dir, '.git', 'objects'), 'sha1')([{ type: 'blob', data: Buffer.from('kept') }]);
  expect(calls).toEqual([
    'rename pack-*.keep',
    'sync pack-*.pack',
    'sync pack-*.idx.new',
    'rename pack-*.idx',
    'sync pack',
  ]);
});

test('the folders above a ref are on the disk before its change is acknowledged; git has synced its file', async () => {
  const repository = await createTemporaryRepository().open();
  const [id] = (await writeChain(repository, undefined, 'one')) as [ObjectId];
  calls.length = 0;
  await repository.refs.update([{ name: parseRefName('refs/history/2026-11-21/n'), expected: null, value: id }]);
  expect(calls).toEqual(['sync .git', 'sync refs', 'sync history', 'sync 2026-11-21']);
  await repository.close();
});

test("packs that git wrote are the repository's once their folder is on the disk", () => {
  const { dir } = createTemporaryRepository();
  const objects = join(dir, '.git/objects');
  const id = runGit(dir, ['hash-object', '-w', '--stdin'], 'kept');
  const quarantine = new Quarantine(join(dir, '.git/uwf/incoming'), objects);
  runGit(dir, ['pack-objects', '-q', quarantine.packPrefix], `${id}\n`);
  calls.length = 0;
  const keeps = quarantine.takeOver();
  quarantine.remove();
  for (const keep of keeps) keep.remove();
  expect(calls).toEqual(['rename pack-*.keep', 'rename pack-*.pack', 'rename pack-*.idx', 'sync pack']);
});
