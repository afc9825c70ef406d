import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import { createCliRepository } from '../../helpers/cli.ts';
import { isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';

const caller = `name: caller
roles:
  child: { schema: { properties: { $status: { enum: [done, failed, cancelled] } }, required: [$status] } }
graph:
  $START: { new: { role: child } }
  child:
    done: { role: $END }
    failed: { role: $END, returnCode: 1 }
    cancelled: { role: $END, prompt: 'The child was cancelled.', returnCode: 2 }
`;
const child = `name: child
roles: { asker: { schema: {} } }
moderator:
  - { from: __start__, to: asker }
  - { from: asker, to: __end__ }
`;
const config = `agents:
  me: { package: 'builtin:human' }
  sub: { package: 'builtin:workflow', config: { workflow: child } }
defaultAgent: me
roles: { caller.child: sub }
`;

test('a person who cancels a child is told how its caller goes on, and that works', async () => {
  const files = {
    '.uwf/workflows/caller.yaml': caller,
    '.uwf/workflows/child.yaml': child,
    '.uwf/config.yaml': config,
  };
  const { uwf, json } = createCliRepository(files);
  expect(await uwf(['run', 'caller', '-p', 'x'])).toMatchObject({ code: 4 });
  const listed = (await json(['thread', 'list'])) as { thread: string; workflow: string }[];
  const idOf = (name: string): string => listed.find(({ workflow }) => workflow === name)?.thread ?? '';
  const { stderr } = await uwf(['thread', 'cancel', idOf('child')]);
  expect(stderr).toBe(`hint: 'uwf thread resume ${idOf('caller')}' lets the thread that called it go on\n`);
  expect(await uwf(['thread', 'resume', idOf('caller')])).toMatchObject({
    code: 3,
    stdout: 'The child was cancelled.\n',
  });
  const { thread } = (await json(['thread', 'start', 'child', '-p', 'x'])) as { thread: string };
  expect(await uwf(['thread', 'cancel', thread])).toMatchObject({ code: 0, stderr: '' });
});

test('a run whose thread another process cancels does not promise that it can go on', async () => {
  const slow =
    "agents: { slow: { package: 'builtin:command', config: { argv: [sleep, '600'] } } }\ndefaultAgent: slow\n";
  const { dir, uwf, json } = createCliRepository({ '.uwf/workflows/child.yaml': child, '.uwf/config.yaml': slow });
  const { thread } = (await json(['thread', 'start', 'child', '-p', 'x'])) as { thread: string };
  const running = spawn(process.execPath, [join(packageRoot(), 'bin/uwf.js'), 'thread', 'run', thread], {
    cwd: dir,
    env: { ...isolatedGitEnvironment, UWF_TRUST: 'all' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = text(running.stderr);
  await expect
    .poll(async () => ((await json(['thread', 'show', thread])) as { status: string }).status, { timeout: 20_000 })
    .toBe('running');
  expect(await uwf(['thread', 'cancel', thread])).toMatchObject({ code: 0 });
  expect(await said).toContain(
    `hint: 'uwf thread run ${thread}' goes on from the last step, unless the thread was cancelled`,
  );
});
