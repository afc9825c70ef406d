import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLoopRepository } from '../../helpers/cli.ts';

test.each([
  ['a link to itself', 'loop', 'ELOOP'],
  ['a name that is too long', 'a'.repeat(300), 'ENAMETOOLONG'],
  ['a file in place of a folder', 'config.json/prompt', 'ENOTDIR'],
])('a prompt from %s is a mistake in the command line', async (_, file, why) => {
  const { uwf, write, dir } = createLoopRepository();
  symlinkSync('loop', join(dir, 'loop'));
  write('config.json', '{}');
  expect(await uwf(['thread', 'start', 'loop', '-F', file])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`uwf: cannot read ${file}: ${why}: `),
  });
});
