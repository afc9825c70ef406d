import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { readHead } from '../../../src/git/worktree/snapshot.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

test.each([
  ['ref: refs/heads/.invalid\n', 'a'],
  ['ref: refs/heads/main\n', 'b'],
  [`${'c'.repeat(40)}\n`, 'c'],
])('what is checked out where the file HEAD says %o is found', async (text, digit) => {
  const gitDir = createTemporaryFolder();
  writeFileSync(join(gitDir, 'HEAD'), text);
  const location = { gitDir, commonDir: gitDir, workTree: undefined };
  const ids: Record<string, ObjectId> = {
    HEAD: 'a'.repeat(40) as ObjectId,
    'refs/heads/main': 'b'.repeat(40) as ObjectId,
  };
  const made = createMapRepository();
  // With a reftable git has HEAD, and the file only tells other programs that this is a repository.
  const read: Repository['refs']['read'] = (name) => Promise.resolve(ids[name]);
  const repository: Repository = { ...made, location, refs: { ...made.refs, read } };
  expect(await readHead(repository, location)).toBe(digit.repeat(40));
});
