import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cloneCliRepository, createLoopRepository } from '../../helpers/cli.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

test('who cannot fetch a thread whose commit the remote has lost is told how it comes back, and that works', async () => {
  const server = createTemporaryRepository({ bare: true });
  const home = createLoopRepository();
  home.git('remote', 'add', 'origin', server.dir);
  const thread = await home.start('loop', 'x');
  await home.json(['push', '--all']);
  const ref = `refs/threads/${thread}`;
  const tip = home.git('rev-parse', ref).trim();
  rmSync(join(server.dir, 'objects', tip.slice(0, 2), tip.slice(2)));
  const clone = cloneCliRepository(server.dir);
  const { code, stderr } = await clone.uwf(['fetch']);
  expect(code).toBe(1);
  const [, push = '', again = ''] = /with '(git push [^']+)' and then '(uwf push [^']+)'/.exec(stderr) ?? [];
  // The remote lists the ref, so the clone that has the thread finds nothing to do by itself.
  expect(await home.uwf(['push', thread])).toMatchObject({
    stdout: expect.stringContaining('its refs are up to date'),
  });
  home.git(...push.split(' ').slice(1));
  expect(await home.uwf(again.split(' ').slice(1))).toMatchObject({ code: 0 });
  expect(await clone.json(['fetch'])).toMatchObject({ threads: [{ thread, head: tip }], refused: [] });
});
