import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';

import { createCliEnvironment } from '../../../src/cli/process/cli-environment.ts';
import { askLine } from '../../../src/cli/ask/ask.ts';
import { main } from '../../../src/cli/main.ts';
import { createCliRepository, recorder, scriptedConfig, type CliRepository } from '../../helpers/cli.ts';
import { isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';

function world(signal = new AbortController().signal) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true as const });
  const stderr = recorder([], { isTTY: true, columns: 100 });
  return { stdin, stderr, cli: createCliEnvironment({ stdin, stderr, signal }) };
}

test('a line answers, and what is typed beyond it waits for the next question', async () => {
  const { stdin, stderr, cli } = world();
  stdin.write('gran');
  const asked = askLine(cli, 'May v9\u202E go out?\u001B[2J ');
  stdin.write('ted\r\nr\u00E9');
  await expect(asked).resolves.toBe('granted');
  expect(stderr.text).toBe('\nMay v9\uFFFD go out?\uFFFD[2J ');
  const next = askLine(cli, 'And v10?');
  stdin.write('fus\u00E9\n');
  await expect(next).resolves.toBe('r\u00E9fus\u00E9');
});

test('the end of the input is no answer, then and later', async () => {
  const { stdin, cli } = world();
  const asked = askLine(cli, 'May it?');
  stdin.end('gran');
  await expect(asked).resolves.toBe('');
  await expect(askLine(cli, 'May it?')).resolves.toBe('');
});

test.each(['of the command', 'of the turn'])('a question is taken back by the signal %s', async (whose) => {
  const [command, turn] = [new AbortController(), new AbortController()];
  const { stdin, cli } = world(command.signal);
  const asked = askLine(cli, 'May it?', turn.signal);
  (whose === 'of the turn' ? turn : command).abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
  expect(stdin.listenerCount('data')).toBe(0);
});

const release = `name: release
roles:
  builder: { description: builds, schema: { properties: { $status: { const: built } }, required: [$status] } }
  approver:
    description: says whether a release goes out
    systemPrompt: You are strict.
    schema: { properties: { $status: { enum: [granted, refused] } }, required: [$status] }
graph:
  $START: { new: { role: builder, prompt: Build. } }
  builder: { built: { role: approver, prompt: 'May v9 go out?' } }
  approver: { granted: { role: $END, prompt: It goes out. }, refused: { role: $END, prompt: It stays. } }
`;

function releaseRepository(): CliRepository {
  const config = JSON.parse(scriptedConfig({ builder: ['---\n$status: built\n---\nAll tests pass.'] })) as {
    agents: Record<string, object>;
  };
  const agents = { ...config.agents, me: { package: 'builtin:human' } };
  return createCliRepository({
    '.uwf/workflows/release.yaml': release,
    '.uwf/config.yaml': JSON.stringify({ ...config, agents, roles: { approver: 'me' } }),
  });
}

test('a person without an editor reads the question with its choices, and answers with one word', async () => {
  const { dir } = releaseRepository();
  const { stdin, stderr } = world();
  const stdout = recorder([]);
  const env = { ...isolatedGitEnvironment, NO_COLOR: '1', UWF_TRUST: 'all' };
  const signal = new AbortController().signal;
  stdin.write('perhaps\nref\n');
  expect(await main(['run', 'release', '-p', 'Release v9'], { stdin, stderr, stdout, env, signal, cwd: dir })).toBe(0);
  expect(stdout.text).toBe('It stays.\n');
  expect(stderr.text).toContain('May v9 go out? [granted/refused] \n');
  expect(stderr.text).toContain("'perhaps' is not one of the answers\nMay v9 go out? [granted/refused] ");
  expect(stderr.text).toContain('All tests pass.');
  expect(stderr.text).not.toMatch(/front matter|\$status|You are strict/u);
});

test('without a terminal the thread waits with the question, and the same word answers', async () => {
  const { uwf } = releaseRepository();
  const env = { UWF_TRUST: 'all' };
  const { code, stderr } = await uwf(['run', 'release', '-p', 'Release v9'], { env });
  expect(code).toBe(4);
  expect(stderr).toContain('is suspended: May v9 go out? [granted/refused]\n');
  const [, id = ''] = /'uwf thread resume (\w+) -p <answer>'/u.exec(stderr) ?? [];
  expect((await uwf(['thread', 'read', id])).stdout).not.toContain('front matter');
  expect(await uwf(['thread', 'resume', id, '-p', 'granted'], { env })).toMatchObject({
    code: 0,
    stdout: 'It goes out.\n',
  });
});
