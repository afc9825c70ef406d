import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLoopRepository } from '../../helpers/cli.ts';

test.each([
  ['a link to itself', 'loop', 'ELOOP'],
  ['a name that is too long', 'a'.repeat(300), 'ENAMETOOLONG'],
  ['a file in place of a folder', 'config.json/prompt', 'ENOTDIR'],
])('a prompt from %s is a mistake in the command line', async (_, file, why) => {
  const { says, write, dir } = createLoopRepository();
  symlinkSync('loop', join(dir, 'loop'));
  write('config.json', '{}');
  await says(`thread start loop -F ${file}`, 2, `uwf: cannot read ${file}: ${why}: `);
});

test('a prompt from what has no end is refused at the limit', async () => {
  const { says } = createLoopRepository();
  await says('thread start loop -F /dev/zero', 1, 'it has more than 33554432 bytes');
});

test('a pipe with a name is read once something is written there; a signal ends the wait for it', async () => {
  const { uwf, dir, json } = createLoopRepository();
  const pipe = join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const stop = new AbortController();
  const stopped = uwf(['thread', 'start', 'loop', '-F', 'pipe'], { signal: stop.signal });
  stop.abort(new Error('enough'));
  expect((await stopped).stderr).toContain('enough');
  const started = json(['thread', 'start', 'loop', '-F', 'pipe']) as Promise<{ thread: string }>;
  const writer = await open(pipe, 'w');
  await writer.write('From a pipe');
  await writer.close();
  expect(await json(['thread', 'show', (await started).thread])).toMatchObject({ prompt: 'From a pipe' });
});
