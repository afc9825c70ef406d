import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCliRepository, loopWorkflow, runCommand, scriptedConfig } from '../helpers/cli.ts';
import {
  createTemporaryFolder,
  expectCleanFsck,
  isolatedGitEnvironment,
  runGit,
} from '../helpers/temporary-repository.ts';

/** At how many of the calls that change the disk the command is killed. */
const KILLS = Number(process.env['SUITE_REDACTION_KILLS'] ?? 25);

const KNOWN = 'correct-horse-battery-staple-7731';
const preload = join(import.meta.dirname, 'faulty-fs-preload.cjs');
const program = join(import.meta.dirname, '../../bin/uwf.js');

test('a redaction that is killed at any call leaves each thread as it was or as it will be, and is done again', async () => {
  const home = createCliRepository({
    '.uwf/workflows/loop.yaml': loopWorkflow,
    '.uwf/config.yaml': scriptedConfig({ writer: [`---\n$status: written\nwords: 3\n---\nIt is ${KNOWN}.`] }),
  });
  const thread = await home.start('loop', 'x');
  await home.uwf(['thread', 'step', thread]);
  await home.uwf(['thread', 'fork', thread]);
  const env = { ...isolatedGitEnvironment, HOME: createTemporaryFolder(), DEPLOY_TOKEN: KNOWN };
  const at = createTemporaryFolder();
  const redact = (more: Record<string, string>, id: string = thread): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, ['--require', preload, program, 'thread', 'redact', id], {
      cwd: at,
      env: { ...env, ...more },
    });
  const reset = (): void => {
    rmSync(at, { recursive: true, force: true });
    cpSync(home.dir, at, { recursive: true });
  };
  const heads = (): string[] => runGit(at, ['for-each-ref', '--format=%(refname) %(objectname)', 'refs']).split('\n');
  reset();
  const before = heads();
  const counts = join(env.HOME, 'calls');
  // The first one also makes the key, which all others find.
  expect(redact({}).status).toBe(0);
  reset();
  expect(redact({ UWF_FAULT_COUNT: counts }).status).toBe(0);
  const after = heads();
  const calls = Number(readFileSync(counts, 'utf8'));
  expect(calls).toBeGreaterThan(20);
  const every = Math.max(1, Math.floor(calls / KILLS));
  for (let call = 1; call <= calls; call += every) {
    reset();
    expect(redact({ UWF_FAULT_AT: String(call), UWF_FAULT: 'kill' }).signal).toBe('SIGKILL');
    // Old ones go after all new ones have come.
    const left = heads();
    expect([...before, ...after]).toEqual(expect.arrayContaining(left));
    expect(before.every((head) => left.includes(head)) || after.every((head) => left.includes(head))).toBe(true);
    expect((await runCommand(['fsck'], { cwd: at, env })).code).toBe(0);
    // What a kill has left behind is found, and nothing keeps it from being finished.
    const { stdout } = await runCommand(['scan', '--json'], { cwd: at, env });
    const { secrets } = JSON.parse(stdout) as { secrets: { thread: string }[] };
    for (const old of new Set(secrets.map((place) => place.thread))) redact({}, old);
    expect(heads().toSorted()).toEqual(after.toSorted());
    expect((await runCommand(['scan'], { cwd: at, env })).code).toBe(0);
    expectCleanFsck(at);
  }
});
