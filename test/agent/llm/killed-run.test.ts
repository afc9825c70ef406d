import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';

import { type CliRepository, createCliRepository } from '../../helpers/cli.ts';
import { type ScriptedAnswer, startModelServer } from '../../helpers/model-server.ts';

const program = resolve(import.meta.dirname, '../../../bin/uwf.js');
const solo = `name: solo
description: one role
roles: { worker: { description: works, systemPrompt: Work., schema: { type: object, properties: { $status: { const: done } }, required: [$status] } } }
moderator: [ { from: __start__, to: worker, when: null }, { from: worker, to: __end__, when: null } ]
`;

async function waitFor<T>(find: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 400; tries += 1) {
    const found = await find();
    if (found !== undefined) return found;
    await pause(25);
  }
  throw new Error('it did not come');
}

function repositoryOf(url: string): CliRepository {
  const agent = { package: 'builtin:llm', config: { baseUrl: url, model: 'm' } };
  return createCliRepository({
    '.uwf/workflows/solo.yaml': solo,
    '.uwf/config.yaml': JSON.stringify({ agents: { m: agent }, defaultAgent: 'm' }),
  });
}

test('a run that is killed while a command of the model works leaves nothing that the next run does not end', async () => {
  let isAgain = false;
  const done: ScriptedAnswer = { text: '---\n$status: done\n---\nDone.' };
  // It may run where processes have other numbers, so that it is known by what it does.
  const seconds = 31_000_000 + process.pid;
  const command = `sleep ${seconds} & sleep ${seconds}`;
  const isAsleep = (): boolean =>
    execFileSync('ps', ['-A', '-o', 'args'], { encoding: 'utf8' }).includes(`sleep ${seconds}\n`);
  const busy: ScriptedAnswer = { calls: [{ name: 'run_command', arguments: { command } }] };
  const server = await startModelServer(() => (isAgain ? done : busy));
  const repository = repositoryOf(server.url);

  const uwf = spawn(process.execPath, [program, 'run', 'solo', '-p', 'x'], { cwd: repository.dir, stdio: 'ignore' });
  await waitFor(() => isAsleep() || undefined);
  uwf.kill('SIGKILL');
  await once(uwf, 'exit');

  isAgain = true;
  const [thread] = (await repository.json(['thread', 'list'])) as { thread: string; status: string }[];
  expect(thread).toMatchObject({ status: 'interrupted' });
  expect(await repository.uwf(['thread', 'run', thread!.thread])).toHaveProperty('code', 0);
  expect(isAsleep()).toBe(false);
});

test('a run that is told to stop while the model is silent ends at once, and runs on', async () => {
  let isAgain = false;
  const server = await startModelServer(() =>
    isAgain ? { text: '---\n$status: done\n---\nDone.' } : { silent: true },
  );
  const repository = repositoryOf(server.url);
  const uwf = spawn(process.execPath, [program, 'run', 'solo', '-p', 'x'], { cwd: repository.dir, stdio: 'ignore' });
  await waitFor(() => server.requests[0]);
  uwf.kill('SIGINT');
  expect(await once(uwf, 'exit')).toEqual([130, null]);
  isAgain = true;
  const [thread] = (await repository.json(['thread', 'list'])) as { thread: string }[];
  expect(await repository.uwf(['thread', 'run', thread!.thread])).toHaveProperty('code', 0);
});
