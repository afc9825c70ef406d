import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { main } from '../../../src/cli/main.ts';
import { CommandStopped } from '../../../src/cli/process/cli-environment.ts';
import { cloneCliRepository, createCliRepository } from '../../helpers/cli.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
  runGit,
} from '../../helpers/temporary-repository.ts';
import { until } from '../../faults/scene.ts';
import { startWorker } from '../../helpers/worker-process.ts';
import { createTeam, gatedWriter } from '../../helpers/worker-team.ts';

test('a thread that is sent to a remote is shown as workers run it, and so is what follows an answer', async () => {
  const folder = createTemporaryFolder();
  const { laptop, box } = createTeam(gatedWriter(folder));
  const worker = startWorker(box.dir, ['--poll', '200ms', '--name', 'box-7']);
  const sending = laptop.uwf(['run', 'release', '-p', 'x', '--on', 'origin']);
  // The writer goes on when the follower has seen who has the thread.
  while (laptop.git('for-each-ref', 'refs/uwf/remotes/origin/claims') === '') await sleep(50);
  writeFileSync(join(folder, 'go'), '');
  const sent = await sending;
  expect(sent.stderr).toMatch(/thread \S+ {2}release\n[^]*taken by box-7 on [^]*1 {2}writer written: A text/);
  expect(sent.stderr).toContain('May it go out?');
  expect(sent.code).toBe(4);
  const [waiting] = (await laptop.json(['thread', 'list'])) as { thread: string; status: string }[];
  expect(waiting).toMatchObject({ status: 'suspended' });
  const events = await laptop.lines(['thread', 'resume', waiting?.thread ?? '', '-p', 'granted', '--on', 'origin']);
  expect(events.slice(-2).map(({ event }) => event)).toEqual(['step.finished', 'thread.ended']);
  expect(events.at(-1)).toMatchObject({ thread: waiting?.thread, status: 'ended', text: 'It may go out.' });
  expect(await worker.stop()).toBe(0);
});

test('a commit that the remote does not have is named before a thread is started', async () => {
  const { laptop } = createTeam();
  laptop.git('commit', '-q', '--allow-empty', '-m', 'not pushed');
  const refused = await laptop.uwf(['run', 'release', '-p', 'x', '--on', 'origin', '-b']);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('origin does not have commit');
  expect(await laptop.json(['thread', 'list'])).toEqual([]);
  expect((await laptop.uwf(['run', 'release', '-p', 'x', '--on', 'origin', '-b', '--with-commits'])).code).toBe(0);
});

test('a remote that is away is looked for again, and an interrupt ends the following only', async () => {
  const { remote, laptop } = createTeam();
  const stop = new AbortController();
  let said = '';
  const away = `${remote}-away`;
  const code = await main(['run', 'release', '-p', 'x', '--on', 'origin'], {
    cwd: laptop.dir,
    env: isolatedGitEnvironment,
    signal: stop.signal,
    stdin: (async function* () {})(),
    stdout: { write: () => true },
    stderr: {
      write(text: string | Uint8Array) {
        said += String(text);
        if (said.includes('trying again') && existsSync(away)) renameSync(away, remote);
        if (said.includes('is back')) stop.abort(new CommandStopped('SIGINT'));
        // The first look is over when the thread is named.
        if (said.includes('release') && !said.includes('trying again')) renameSync(remote, away);
        return true;
      },
    },
  });
  expect(said).toContain('only the following has ended');
  expect(code).toBe(130);
});

test('a stopped thread is listed and shown as such, and a run at the remote lets it go on', async () => {
  const { laptop } = createTeam();
  const thread = (await laptop.uwf(['run', 'release', '-p', 'x', '--on', 'origin', '-b'])).stdout.trim();
  expect(await laptop.json(['thread', 'show', thread, '--json=claim'])).toEqual({ claim: null });
  await laptop.uwf(['thread', 'stop', thread, '--on', 'origin']);
  const claim = { remote: 'origin', stoppedBy: 'C O Mitter', role: null, held: null };
  expect(await laptop.json(['thread', 'show', thread])).toMatchObject({ status: 'idle', claim });
  expect((await laptop.uwf(['thread', 'show', thread])).stdout).toMatch(
    /worker +stopped at origin by C O Mitter, as a fetch saw it just now/,
  );
  expect((await laptop.uwf(['thread', 'list'])).stdout).toContain('stopped at origin');
  await laptop.uwf(['thread', 'run', thread, '--on', 'origin', '-b']);
  expect(await laptop.json(['thread', 'show', thread, '--json=claim'])).toEqual({ claim: null });
});

test('a thread that a worker of another remote has is not sent on before it is stopped there', async () => {
  const folder = createTemporaryFolder();
  const { remote, laptop, box } = createTeam(gatedWriter(folder));
  const { dir: two } = createTemporaryRepository({ bare: true });
  laptop.git('remote', 'add', 'two', two);
  laptop.git('push', '-q', 'two', 'main');
  const thread = (await laptop.uwf(['run', 'release', '-p', 'x', '--on', 'origin', '-b'])).stdout.trim();
  await laptop.uwf(['push', 'two', thread]);
  const unclaimed = await laptop.uwf(['thread', 'run', thread, '--on', 'two', '-b']);
  const stop = `'uwf thread stop ${thread} --on origin'`;
  expect(unclaimed).toMatchObject({ code: 0, stdout: `${thread}\n` });
  expect(unclaimed.stderr).toContain(`hint: origin has the thread, too: if it has workers, ${stop} keeps them from`);

  const worker = startWorker(box.dir, ['--poll', '200ms', '--name', 'box-7']);
  await until('it is claimed', () => runGit(remote, ['for-each-ref', 'refs/uwf/claims']).includes(thread));
  await laptop.uwf(['fetch', 'origin']);
  for (const command of ['run', 'resume']) {
    const refused = await laptop.uwf(['thread', command, thread, '--on', 'two', '-b']);
    expect(refused).toMatchObject({ code: 5, stdout: '' });
    expect(refused.stderr).toContain(
      `works on thread ${thread} at origin, and workers of two would take the same turn`,
    );
    expect(refused.stderr).toContain(`hint: ${stop} ends that first`);
  }
  expect((await laptop.uwf(['thread', 'stop', thread, '--on', 'origin'])).code).toBe(0);
  const sent = await laptop.uwf(['thread', 'run', thread, '--on', 'two', '-b']);
  expect(sent).toMatchObject({ code: 0 });
  expect(sent.stderr).not.toContain('origin has');
  writeFileSync(join(folder, 'go'), '');
  expect(await worker.stop()).toBe(0);
});

test('following ends when another clone removes the thread', async () => {
  const { remote, laptop, box } = createTeam();
  const sending = laptop.uwf(['run', 'release', '-p', 'x', '--on', 'origin']);
  const sent = (): string => runGit(remote, ['for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads']).trim();
  await until('the thread is at the remote', () => sent() !== '');
  const thread = sent();
  await box.uwf(['fetch']);
  expect((await box.uwf(['thread', 'rm', thread, '--remote', '--force'])).code).toBe(0);
  const { code, stderr } = await sending;
  expect(stderr).toContain(`there is no thread '${thread}'`);
  expect(code).toBe(2);
});

test('the answer to a question that was answered at the remote is not taken for one to the next question', async () => {
  const { dir: remote } = createTemporaryRepository({ bare: true });
  const laptop = createCliRepository({
    '.uwf/workflows/two.yaml': `name: two
roles: { a: { schema: {} }, b: { schema: {} } }
moderator:
  - { from: __start__, to: a, when: null, prompt: 'A?' }
  - { from: a, to: b, when: null, prompt: 'B?' }
  - { from: b, to: __end__, when: null }
`,
    '.uwf/config.yaml': JSON.stringify({ agents: { me: { package: 'builtin:human' } }, defaultAgent: 'me' }),
  });
  laptop.git('remote', 'add', 'origin', remote);
  await laptop.uwf(['run', 'two', '-p', 'x']);
  await laptop.uwf(['push', '--all']);
  const other = cloneCliRepository(remote);
  await other.uwf(['fetch']);
  const [{ thread } = { thread: '' }] = (await other.json(['thread', 'list'])) as { thread: string }[];
  await laptop.uwf(['thread', 'resume', thread, '-p', 'to A']);
  await laptop.uwf(['push']);
  const refs = laptop.git('ls-remote', 'origin');
  const answer = ['thread', 'resume', thread, '-p', 'to A, too', '--on', 'origin', '-b'];
  const refused = await other.uwf(answer);
  expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('moved on')]);
  expect(laptop.git('ls-remote', 'origin')).toBe(refs);
  expect((await other.json(['thread', 'show', thread])) as object).toMatchObject({ reason: 'B?' });
  expect((await other.uwf(answer)).code).toBe(0);
});
