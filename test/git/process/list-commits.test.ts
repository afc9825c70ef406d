import { expect, test } from 'vitest';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import { listCommits } from '../../../src/git/process/revisions.ts';
import { createTemporaryRepository, isolatedGitEnvironment as env } from '../../helpers/temporary-repository.ts';

test('a commit without a message is listed, and those after it too', async () => {
  const { dir, git } = createTemporaryRepository();
  for (const message of ['one', '> two', '', 'four']) {
    git('commit', '--quiet', '--allow-empty', '--allow-empty-message', '-m', message);
  }
  const ids = git('rev-list', 'HEAD').trim().split('\n').map(parseObjectId);
  const location = { gitDir: `${dir}/.git`, commonDir: `${dir}/.git`, workTree: dir };
  const [head, , , first] = ids;
  const listed = await listCommits(
    { location, env },
    { from: ids.slice(0, 1), without: first === undefined ? [] : [first], most: 9 },
  );
  expect(listed).toEqual([
    { commit: head, subject: 'four' },
    { commit: ids[1], subject: '' },
    { commit: ids[2], subject: '> two' },
  ]);
});
