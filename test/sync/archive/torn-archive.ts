import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { openRepository } from '../../../src/git/open-repository.ts';
import { pushThreads } from '../../../src/sync/push-threads.ts';
import { endThread } from '../../../src/thread/thread-verbs.ts';
import { findArchived } from '../../../src/thread/archive-list.ts';
import { findThread, listPointers } from '../../../src/thread/find-thread.ts';
import type { ThreadPointer } from '../../../src/thread/thread-id.ts';
import { runTypeScript, type ScriptOutcome } from '../../helpers/run-typescript.ts';
import {
  createTemporaryFolder,
  expectCleanFsck,
  isolatedGitEnvironment,
  runGit,
} from '../../helpers/temporary-repository.ts';
import { startLoop } from '../../thread/thread-fixture.ts';
import { openClone } from '../torn-clones.ts';

const script = join(import.meta.dirname, '..', '..', 'faults', 'archive-a-clone.ts');

function runArchive(dir: string, faults: Readonly<Record<string, string>> = {}): Promise<ScriptOutcome> {
  const env = { ...isolatedGitEnvironment, UWF_FAULT: 'kill', ...faults };
  return runTypeScript(script, [join(dir, 'ada')], { withFaults: true, env });
}

/** A clone with ended threads, of which the server has all but the last. */
async function createEnded(count: number): Promise<{ dir: string; threads: readonly ThreadPointer[] }> {
  await prepareHashing();
  const dir = createTemporaryFolder();
  for (const name of ['server.git', 'ada']) {
    mkdirSync(join(dir, name));
    runGit(join(dir, name), ['init', '--quiet', '--initial-branch=main', ...(name === 'server.git' ? ['--bare'] : [])]);
  }
  runGit(join(dir, 'ada'), ['remote', 'add', 'origin', '../server.git']);
  const { repository, remote } = await openClone(dir, 'ada');
  for (let at = 1; at <= count; at += 1) {
    if (at === count) await pushThreads(readingContext(repository), remote);
    const over = { outcome: 'cancelled', returnCode: 130, summary: 'over' } as const;
    await endThread(repository, await startLoop(repository), over);
  }
  const threads = await listPointers(repository);
  await repository.close();
  return { dir, threads };
}

async function expectAllThere(dir: string, name: string, threads: readonly ThreadPointer[]): Promise<void> {
  expectCleanFsck(join(dir, name));
  const repository = await openRepository(join(dir, name));
  for (const { id, head } of threads) expect(await findThread(repository, id)).toMatchObject({ id, head });
  await repository.close();
}

/**
 * Kills an archive and its push at places spread over all calls that change the disk, and lets the next one complete.
 * @returns how many were killed; a run can make fewer calls than another
 */
export async function killArchives(kills: number): Promise<number> {
  const { dir: template, threads } = await createEnded(6);
  const copy = (): string => {
    const to = createTemporaryFolder();
    cpSync(template, to, { recursive: true });
    return to;
  };
  const whole = copy();
  const countFile = join(whole, 'calls');
  expect(await runArchive(whole, { UWF_FAULT_COUNT: countFile })).toMatchObject({ code: 0, stdout: 'done\n' });
  const calls = Number(readFileSync(countFile, 'utf8'));
  let killed = 0;
  for (let part = 0; part < kills; part += 1) {
    const at = 1 + Math.floor(((part + Math.random()) * calls) / kills);
    const dir = copy();
    if ((await runArchive(dir, { UWF_FAULT_AT: String(at) })).signal === 'SIGKILL') killed += 1;
    await expectAllThere(dir, 'ada', threads);
    await expectAllThere(dir, 'server.git', threads.slice(0, -1));
    expect(await runArchive(dir), `killed at call ${at}`).toMatchObject({ code: 0, stdout: 'done\n' });
    for (const name of ['ada', 'server.git']) {
      runGit(join(dir, name), ['gc', '--quiet', '--prune=now']);
      await expectAllThere(dir, name, threads);
      const repository = await openRepository(join(dir, name));
      expect(await listPointers(repository), `killed at call ${at}`).toEqual([]);
      expect(await findArchived(repository, '')).toHaveLength(threads.length);
      await repository.close();
    }
  }
  return killed;
}
