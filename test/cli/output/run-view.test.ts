import { expect, test } from 'vitest';
import { createLoopRepository, loopReplies } from '../../helpers/cli.ts';

const erase = '\r\u001B[K';

test('on a terminal a line lives below the steps, and is gone in the end', async () => {
  const { uwf } = createLoopRepository({ ...loopReplies, writer: [{ delayMs: 600, reply: loopReplies.writer[1] }] });
  const { all } = await uwf(['run', 'loop', '-p', 'x', '--limit', '1'], { isTTY: true });
  const live = all.split(erase).find((part) => part.includes('writer (script)'));
  expect(live?.replaceAll(/\u001B\[[\d;]*m/g, '')).toMatch(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] writer \(script\) \d\.\d s/u);
  expect(all.lastIndexOf(erase)).toBeLessThan(all.indexOf('is \u001B'));
  expect(all.slice(all.lastIndexOf(erase) + erase.length)).not.toContain('writer (script)');
});

test('nothing is drawn in a pipe or on a dumb terminal', async () => {
  const { uwf } = createLoopRepository();
  expect((await uwf(['run', 'loop', '-p', 'x'])).all).not.toContain('\u001B');
  const dumb = await uwf(['run', 'loop', '-p', 'x'], { isTTY: true, env: { TERM: 'dumb' } });
  expect(dumb.all).not.toContain('\u001B');
});

test('NO_COLOR leaves the text as it is', async () => {
  const { uwf } = createLoopRepository();
  await uwf(['run', 'loop', '-p', 'x']);
  const coloured = await uwf(['thread', 'list', '--all'], { isTTY: true });
  const plain = await uwf(['thread', 'list', '--all'], { isTTY: true, env: { NO_COLOR: '1' } });
  expect(coloured.stdout).toContain('\u001B[');
  expect(plain.stdout).toBe(coloured.stdout.replaceAll(/\u001B\[[\d;]*m/g, ''));
});

test('a reply that is not accepted is told with its reason', async () => {
  const { uwf } = createLoopRepository({ ...loopReplies, writer: ['no front matter', ...loopReplies.writer] });
  const { code, stderr } = await uwf(['run', 'loop', '-p', 'x']);
  expect(code).toBe(4);
  expect(stderr).toContain('not accepted from writer, asking again: ');
  expect(stderr).toContain('not accepted from writer, no try is left: ');
});

test('what an agent says cannot steer the terminal', async () => {
  const evil = '---\n$status: written\nwords: 1\n---\n\u001B]0;owned\u0007\u001B[2Jtext';
  const { uwf } = createLoopRepository({ ...loopReplies, writer: [evil] });
  const { stderr } = await uwf(['run', 'loop', '-p', 'x', '--limit', '1']);
  expect(stderr).not.toContain('\u001B]');
  const { stdout } = await uwf(['thread', 'read', '0'], { isTTY: true, env: { NO_COLOR: '1' } });
  expect(stdout).not.toContain('\u001B');
  expect(stdout).toContain('text');
});
