import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { root } from '../docs/live-document.ts';

/** Runs a build and gives its exit code with what it said. */
async function build(): Promise<string> {
  const child = spawn(process.execPath, ['scripts/build.js', '--force', '--quiet'], { cwd: root });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close'), text(child.stdout)]);
  return `${code} ${said}`;
}

test('builds that run at once do not disturb each other', async () => {
  for (let round = 0; round < 2; round += 1) {
    expect(await Promise.all([build(), build(), build()])).toEqual(['0 ', '0 ', '0 ']);
  }
});
