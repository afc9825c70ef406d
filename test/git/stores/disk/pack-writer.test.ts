import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packWriter } from '../../../../src/git/stores/disk/pack-writer.ts';
import type { GitObject } from '../../../../src/git/format/object-id.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../../helpers/temporary-repository.ts';

test('a collection of garbage while a pack is written takes nothing of it away', async () => {
  const { dir, git } = createTemporaryRepository();
  const folder = join(dir, '.git', 'objects', 'pack');
  const seen: string[][] = [];
  // Asked for its bytes when its place in the pack has come: the file is there, and not complete.
  const object: GitObject = {
    type: 'blob',
    get data() {
      git('gc', '--quiet', '--prune=now');
      seen.push(readdirSync(folder));
      return Buffer.from('a reply\n');
    },
  };
  const written = packWriter(join(dir, '.git', 'objects'), 'sha1')([object]);
  expect(seen[0]).toHaveLength(2);
  expect(git('cat-file', '--batch-check', '--batch-all-objects')).toMatch(/^[0-9a-f]{40} blob 8$/);
  await written.release();
  expectCleanFsck(dir);
});
