import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import { createCliRepository, type CliRepository } from '../../helpers/cli.ts';
import { isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';

const WORKFLOW = `name: gate
roles:
  judge: { schema: { properties: { $status: { enum: [granted, refused] } }, required: [$status] } }
graph:
  $START: { new: { role: judge, prompt: May it go out? } }
  judge: { granted: { role: $END }, refused: { role: $END } }
`;

const BLOCK = `name: two
roles:
  judge: { schema: { properties: { $status: { enum: [granted, refused] } }, required: [$status] } }
blocks:
  both:
    isolation: shared
    branches: { a: { role: judge, prompt: 'A?' }, b: { role: judge, prompt: 'B?' } }
    join: all
moderator:
  - { from: __start__, to: both, when: null }
  - { from: both, to: __end__, when: null }
`;

function create(): CliRepository {
  return createCliRepository({
    '.uwf/workflows/gate.yaml': WORKFLOW,
    '.uwf/workflows/two.yaml': BLOCK,
    '.uwf/config.yaml': JSON.stringify({ agents: { me: { package: 'builtin:human' } }, defaultAgent: 'me' }),
  });
}

/** A command at a pseudo-terminal. */
type AtTerminal = {
  type(keys: string): void;
  saw(text: string): Promise<void>;
  ended: Promise<{ code: number; all: string }>;
};

function atTerminal({ dir }: CliRepository, argv: readonly string[]): AtTerminal {
  const env = { ...process.env, ...isolatedGitEnvironment, EDITOR: '', VISUAL: '', NO_COLOR: '1' };
  const line = [process.execPath, join(packageRoot(), 'bin/uwf.js'), ...argv].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', line, '/dev/null'], { cwd: dir, env, timeout: 120_000 });
  let all = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (all += text));
  return {
    type: (keys) => void child.stdin.write(keys),
    saw: async (text) => await expect.poll(() => all).toContain(text),
    ended: once(child, 'close').then(([code]) => ({ code: Number(code), all })),
  };
}

async function onlyThread({ json }: CliRepository): Promise<Record<string, unknown>> {
  const [thread] = (await json(['thread', 'list', '--all', '--json'])) as Record<string, unknown>[];
  return thread ?? {};
}

/** The kinds of a thread's commits, oldest first. */
async function kindsOf({ json }: CliRepository, thread: string): Promise<unknown[]> {
  const entries = (await json(['log', thread, '--json'])) as Record<string, unknown>[];
  return entries.map(({ kind, text }) => (kind === 'resume' ? text : kind)).toReversed();
}

test('a question is stored before it is asked, and its first answer counts, wherever it is given', async () => {
  const repository = create();
  const terminal = atTerminal(repository, ['run', 'gate', '-p', 'x']);
  await terminal.saw('[granted/refused]');
  const { thread, status } = await onlyThread(repository);
  expect(status).toBe('suspended');
  const answered = await repository.uwf(['thread', 'resume', String(thread), '-p', 'refused: not today']);
  expect(answered.code, answered.all).toBe(0);
  const { code, all } = await terminal.ended;
  expect(all).toContain(`thread ${String(thread)} was answered elsewhere`);
  expect(code, all).toBe(0);
  expect(await kindsOf(repository, String(thread))).toEqual(['start', 'suspend', 'refused: not today', 'step', 'end']);
});

test('of two terminals that ask the same, one has the answer', async () => {
  const repository = create();
  await repository.uwf(['run', 'gate', '-p', 'x']);
  const { thread } = await onlyThread(repository);
  const terminals = [1, 2].map(() => atTerminal(repository, ['thread', 'resume', String(thread)]));
  for (const { saw } of terminals) await saw('[granted/refused]');
  for (const { type } of terminals) type('granted\n');
  const ended = await Promise.all(terminals.map((each) => each.ended));
  expect(
    ended.map(({ code }) => code),
    ended.map(({ all }) => all).join('=='),
  ).toEqual([0, 0]);
  expect(ended.filter(({ all }) => all.includes('was answered elsewhere'))).toHaveLength(1);
  expect(await kindsOf(repository, String(thread))).toEqual(['start', 'suspend', 'granted', 'step', 'end']);
});

test('Ctrl-C leaves the question for later', async () => {
  const repository = create();
  const terminal = atTerminal(repository, ['run', 'gate', '-p', 'x']);
  await terminal.saw('[granted/refused]');
  terminal.type('\u0003');
  const { code, all } = await terminal.ended;
  expect([code, all]).toEqual([
    130,
    expect.stringMatching(/is suspended: May it go out\?[^]*thread resume[^]*interrupted/u),
  ]);
  expect(await onlyThread(repository)).toMatchObject({ status: 'suspended' });
});

test('the questions of branches are asked one after the other, and one that is left for later waits', async () => {
  const repository = create();
  const terminal = atTerminal(repository, ['run', 'two', '-p', 'x']);
  await terminal.saw('A? [granted/refused]');
  terminal.type('\n');
  await terminal.saw('B? [granted/refused]');
  terminal.type('g\n');
  expect((await terminal.ended).code).toBe(4);
  const again = atTerminal(repository, ['thread', 'resume', String((await onlyThread(repository))['thread'])]);
  await again.saw('A? [granted/refused]');
  again.type('refused\n');
  expect((await again.ended).code).toBe(0);
});
