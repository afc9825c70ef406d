import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLoopRepository, scriptedConfig, type CliRepository, type Remote } from '../../helpers/cli.ts';

/** A value that only this machine knows to be secret, and so is stored where the machine does not know it. */
const KNOWN = 'correct-horse-battery-staple-7731';
const knowing = { env: { DEPLOY_TOKEN: KNOWN } };

function reply(text: string): string {
  return `---\n$status: written\nwords: 3\n---\n${text}`;
}

function createScene(replies: Record<string, string[]>): { server: Remote; home: CliRepository } {
  const home = createLoopRepository(replies);
  return { server: home.share(), home };
}

async function step(home: CliRepository, prompt = 'x', id?: string): Promise<string> {
  const thread = id ?? (await home.start('loop', prompt));
  expect((await home.uwf(['thread', 'step', thread, '--role', 'writer'])).code).toBe(0);
  return thread;
}

test('a thread with a secret is held with the places, never the value, and others go', async () => {
  const { server, home } = createScene({ writer: [reply(`First line.\nThe word is ${KNOWN}.`)] });
  const thread = await step(home);
  const clean = await home.start('loop', 'clean');
  for (const words of [
    ['push', '--all'],
    ['push', '--all', '-n'],
    ['sync', '--all'],
    ['push', '--all', '--json'],
    ['push', '-t', thread],
  ]) {
    const { code, all } = await home.uwf(words, knowing);
    expect({ words, code }).toEqual({ words, code: 1 });
    expect(all).toContain(thread);
    expect(all).toContain('output.md');
    expect(all).toContain('line 2');
    expect(all).not.toContain(KNOWN);
  }
  expect((await home.uwf(['push', '--all'], knowing)).stderr).toContain(`'uwf thread redact ${thread}'`);
  expect(server.git('for-each-ref', '--format=%(refname)')).toBe(`refs/threads/${clean}`);
  const sent = await home.uwf(['push', '--all', '--allow-secrets'], knowing);
  expect(sent.code).toBe(0);
  expect(sent.stdout).toMatch(/\[secret sent\] +step 1 {2}output\.md/);
  expect(sent.all).not.toContain(KNOWN);
  expect(server.git('rev-parse', `refs/threads/${thread}`)).toBe(home.git('rev-parse', `refs/threads/${thread}`));
});

test('only what is new to the remote is looked through', async () => {
  const { home } = createScene({ writer: [reply(`It is ${KNOWN}.`)] });
  const thread = await step(home);
  // What was sent before this machine knew is not held against what follows, nor against a fork of it.
  expect((await home.uwf(['push', '--all'])).code).toBe(0);
  await home.uwf(['thread', 'fork', thread]);
  await home.uwf(['thread', 'cancel', thread]);
  const { code, stdout } = await home.uwf(['push', '--all'], knowing);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('2 threads') });
});

test.each([
  ['a prompt', async (home: CliRepository) => step(home, `use ${KNOWN}`), 'prompt.md'],
  [
    'a snapshot',
    async (home: CliRepository) => {
      writeFileSync(join(home.dir, '.env.local'), `A=1\nKEY=${KNOWN}\n`);
      return step(home);
    },
    'workspace/.env.local',
  ],
  [
    'a file name',
    async (home: CliRepository) => {
      writeFileSync(join(home.dir, `${KNOWN}.txt`), 'x\n');
      return step(home);
    },
    'workspace/‹redacted:',
  ],
])('a secret in %s is found', async (_, make, file) => {
  const { home } = createScene({ writer: [reply('Done.')] });
  home.write('.uwf/config.yaml', scriptedConfig({ writer: [reply('Done.')] }, { snapshot: { mode: 'on' } }));
  await make(home);
  const { code, all } = await home.uwf(['push', '--all'], knowing);
  expect({ code, all }).toMatchObject({ code: 1, all: expect.stringContaining(file) });
  expect(all).not.toContain(KNOWN);
});
