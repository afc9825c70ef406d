import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isGroupAlive } from '../../../src/agent/processes/process-group.ts';
import { chain, config, createScene, diligent, until, type Scene } from '../../faults/scene.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

/** A repository whose isolated work trees a script prepares. */
function createPrepared(
  setup: string,
  isolation: Record<string, unknown> = {},
): Scene & { env: Record<string, string> } {
  const scene = createScene({
    '.uwf/workflows/w.yaml': `${chain('w', ['coder'])}\nisolation: worktree\n`,
    '.uwf/config.yaml': config(['./agent'], { isolation: { setup: ['./setup'], ...isolation } }),
    agent: diligent,
    setup: `#!/bin/sh\n${setup}\n`,
  });
  scene.git('add', '-A');
  scene.git('commit', '-qm', 'code');
  return { ...scene, env: { HOME: createTemporaryFolder(), XDG_STATE_HOME: createTemporaryFolder() } };
}

test('a program that prepares a work tree and hangs is ended at the limit, and nothing of the work tree stays', async () => {
  const { uwf, git, env } = createPrepared(`echo $$ > "$HOME/pid"; exec sleep 600`, { timeoutMs: 1500 });
  const { code, stderr } = await uwf(['run', 'w', '-p', 'x'], { env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/making a work tree took longer than 1\.5 s.*hint: .*isolation\.timeoutMs.*isolation\.setup/s);
  expect(git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1);
  expect(git('branch', '--list', 'uwf/*')).toBe('');
  const pid = Number(readFileSync(join(env['HOME'] ?? '', 'pid'), 'utf8'));
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

test.each([2 ** 31, 2 ** 32])('a limit of %i ms, longer than a timer of Node, ends none', async (timeoutMs) => {
  const { uwf, env } = createPrepared('sleep 0.2', { timeoutMs });
  expect(await uwf(['run', 'w', '-p', 'x'], { env })).toMatchObject({ code: 0 });
});

test('so is one that prepares the work tree of a thread that is over', async () => {
  const { uwf, write, env } = createPrepared(':', { timeoutMs: 1500 });
  expect(await uwf(['run', 'w', '-p', 'x'], { env })).toMatchObject({ code: 0 });
  write('setup', '#!/bin/sh\nexec sleep 600\n');
  const { stderr } = await uwf(['run', 'w', '-p', 'x'], { env });
  expect(stderr).toContain('making a work tree took longer than 1.5 s');
});

test('one that writes too much is told as that', async () => {
  const { uwf, env } = createPrepared('yes | head -c 3000000');
  const { stderr } = await uwf(['run', 'w', '-p', 'x'], { env });
  expect(stderr).toContain("/setup' failed in the new work tree (it wrote more than 1048576 bytes and was ended)");
});

test('one that a killed uwf leaves running is ended by the next command before it begins', async () => {
  const { start, startThread, uwf, gitDir, env } = createPrepared(
    '[ -e "$HOME/pid" ] || { echo $$ > "$HOME/pid"; exec sleep 600; }',
  );
  const thread = await startThread('w');
  const pidFile = join(env['HOME'] ?? '', 'pid');
  const killed = start(['thread', 'run', thread], { env });
  const lease = join(gitDir, 'uwf', 'leases', `${thread}.json`);
  const isNoted = (pid: string): boolean => pid !== '' && readFileSync(lease, 'utf8').includes(`"pid":${pid}`);
  await until('the program runs', () => existsSync(pidFile) && isNoted(readFileSync(pidFile, 'utf8').trim()));
  const pgid = Number(readFileSync(pidFile, 'utf8'));
  killed.process.kill('SIGKILL');
  await killed.outcome;
  expect(isGroupAlive(pgid)).toBe(true);
  expect(await uwf(['thread', 'run', thread], { env })).toMatchObject({ code: 0 });
  expect(isGroupAlive(pgid)).toBe(false);
});
