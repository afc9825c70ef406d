import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { main } from '../../../src/cli/main.ts';
import { createTemporaryFolder, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';
import { startWorker } from '../../helpers/worker-process.ts';
import { createTeam, gatedWriter } from '../../helpers/worker-team.ts';

test('a stop at a remote ends the agent of its worker, and a run there goes on from the last step', async () => {
  const gates = createTemporaryFolder();
  const { laptop, box } = createTeam(gatedWriter(gates));
  const worker = startWorker(box.dir, ['--poll', '200ms', '--name', 'box-7']);
  const { stdout } = await laptop.uwf(['run', 'release', '-p', 'x', '--on', 'origin', '--background']);
  const thread = stdout.trim();
  await worker.says(`${thread} writer\n`);
  await laptop.uwf(['fetch']);
  expect(await laptop.json(['thread', 'show', thread])).toMatchObject({ claim: { worker: 'box-7', role: 'writer' } });
  expect((await laptop.uwf(['thread', 'list'])).stdout).toContain('claimed by box-7');
  const stopped = await laptop.json(['thread', 'stop', thread, '--on', 'origin']);
  expect(stopped).toMatchObject({ thread, status: 'idle', wasRunning: true, workers: [{ worker: 'box-7' }] });
  await worker.says(`${thread} was stopped at origin; this turn is not published`);
  // Its agent would go on now, but nothing takes it: the worker looks again, and does another thread.
  writeFileSync(join(gates, 'go'), '');
  expect((await laptop.uwf(['run', 'release', '-p', 'y', '--on', 'origin'])).code).toBe(4);
  await laptop.uwf(['fetch']);
  expect(await laptop.json(['thread', 'show', thread])).toMatchObject({ status: 'idle', steps: 0 });
  expect((await laptop.uwf(['thread', 'run', thread, '--on', 'origin'])).code).toBe(4);
  expect(await laptop.json(['thread', 'show', thread])).toMatchObject({ status: 'suspended', steps: 1 });
});

test('a cancel at a remote writes the end there, and its worker publishes nothing more', async () => {
  const gates = createTemporaryFolder();
  const { remote, laptop, box } = createTeam(gatedWriter(gates));
  const worker = startWorker(box.dir, ['--poll', '200ms']);
  const thread = (await laptop.uwf(['run', 'release', '-p', 'x', '--on', 'origin', '-b'])).stdout.trim();
  await worker.says(`${thread} writer\n`);
  const result = await laptop.json(['thread', 'cancel', thread, '--on', 'origin', '-m', 'not needed']);
  expect(result).toMatchObject({ thread, status: 'cancelled', text: 'not needed' });
  await worker.says('this turn is not published');
  const refs = laptop.git('ls-remote', remote);
  expect(refs).toMatch(new RegExp(`refs/history/\\S+/${thread}`));
  expect(refs).not.toContain(`refs/threads/${thread}`);
  expect(refs).not.toContain('refs/uwf/claims');
});

test('a sender whose thread no worker takes is told so, and what may be the matter', async () => {
  const gates = createTemporaryFolder();
  const { laptop, box } = createTeam(gatedWriter(gates));
  let said = '';
  let isStarted = false;
  await main(['run', 'release', '-p', 'x', '--on', 'origin'], {
    cwd: laptop.dir,
    env: isolatedGitEnvironment,
    signal: new AbortController().signal,
    stdin: (async function* () {})(),
    stdout: { write: () => true },
    stderr: {
      write(text: string | Uint8Array) {
        said += String(text);
        if (!isStarted && said.includes('no worker has claimed it.')) {
          isStarted = true;
          startWorker(box.dir, ['--poll', '200ms', '--name', 'box-7']);
        }
        if (said.includes('taken by box-7')) writeFileSync(join(gates, 'go'), '');
        return true;
      },
    },
  });
  expect(said).toMatch(/no worker has claimed it\.[^]*taken by box-7/);
});
