import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Quarantine } from '../../../src/git/stores/quarantine.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

test('no quarantine is made in place of a repository that was moved away', () => {
  const { dir } = createTemporaryRepository({ bare: true });
  const open = (): Quarantine => new Quarantine(join(dir, 'uwf/incoming'), join(dir, 'objects'));
  open().remove();
  const left = open();
  renameSync(dir, `${dir}-moved`);
  expect(open).toThrow(expect.objectContaining({ code: 'repository-not-found' }));
  expect(() => left.takeOver()).toThrow(/ENOENT/);
  expect(existsSync(dir)).toBe(false);
  renameSync(`${dir}-moved`, dir);
});
