import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRedactor } from '../../../src/redaction/create-redactor.ts';
import { RedactionFailed } from '../../../src/redaction/redactor.ts';
import type { Redactor } from '../../../src/redaction/redactor.ts';
import { allWritten, placesOf } from '../../helpers/all-written.ts';
import { installAgent } from '../../helpers/install-agent.ts';
import { print, scenario, statuses, type Scenario } from '../../helpers/scenario.ts';

const secret = 'Xk9#vQ2/plover+Lm7=zR';
const env = { PATH: process.env['PATH'], DEPLOY_TOKEN: secret };
const config = { snapshot: { mode: 'on' } } as const;

async function createScene(does: string, redactor?: Redactor, file = 'one\n'): Promise<Scenario> {
  const agent = { program: `${does}; ${print('done', '%s did it.')} $UWF_ROLE` };
  const engine = { env, ...(redactor && { redactor }) };
  const scene = await scenario({
    flow: 'a > b > end',
    agents: { a: agent, b: agent },
    config,
    engine,
    files: { file },
  });
  scene.git('add', '.');
  scene.git('commit', '--quiet', '-m', 'files');
  return scene;
}

const leaves = `[ -e new ] || { mkdir -p sub && printf 'first\\nkey %s\\n' "$DEPLOY_TOKEN" > sub/new; : > new; }`;
const clean = ({ dir }: Scenario): void => writeFileSync(join(dir, 'sub', 'new'), 'first\n');
const waits = { event: 'thread.suspended', cause: 'secret' };

test('a turn whose files hold a secret waits, and is stored without another turn when it is gone', async () => {
  const scene = await createScene(leaves);
  const over = await scene.run();
  expect(over).toMatchObject({ ...waits, role: 'a' });
  expect(over.text).toContain('sub/new line 2 (known)');
  expect(placesOf([secret], allWritten(scene.dir))).toEqual([]);
  // It is there still.
  expect(await scene.resume()).toMatchObject(waits);
  expect(scene.runs()).toEqual(['a']);
  clean(scene);
  const done = await scene.resume();
  expect(done).toMatchObject({ event: 'thread.ended' });
  expect(scene.runs()).toEqual(['a', 'b']);
  expect(await scene.read('output.md', 1)).toBe('b did it.');
  expect(await scene.read('output.md', 2)).toBe('a did it.');
  expect(scene.git('show', `${done.head}~2^2:sub/new`)).toBe('first');
  expect(existsSync(scene.keptAt('pending'))).toBe(false);
  expect(placesOf([secret], allWritten(scene.dir))).toEqual([]);
});

test('with allowSecrets the files are stored as they are', async () => {
  const scene = await createScene(leaves);
  await scene.run();
  const done = await scene.resume({ allowSecrets: true });
  // The next turn has changed nothing against what was recorded last.
  expect(done).toMatchObject({ event: 'thread.ended' });
  expect(scene.runs()).toEqual(['a', 'b']);
  expect(scene.git('show', `${done.head}^^2:sub/new`)).toBe(`first\nkey ${secret}`);
});

test.each([
  ['with an answer', () => {}, 'Once more.'],
  ['where nothing is held any more', (scene: Scenario) => rmSync(scene.keptAt('pending')), undefined],
])('%s the role takes its turn again', async (_, lose, answer) => {
  const scene = await createScene(leaves);
  await scene.run();
  lose(scene);
  clean(scene);
  expect(await scene.resume(answer)).toMatchObject({ event: 'thread.ended' });
  expect(scene.runs()).toEqual(['a', 'a', 'b']);
  expect(existsSync(scene.keptAt('pending'))).toBe(false);
});

test('what was there before the turn, or was committed in it, is told apart', async () => {
  const scene = await createScene(':', undefined, `key ${secret}\n`);
  expect(await scene.run()).toMatchObject({ event: 'thread.ended' });
  const commit = 'git add new; git -c user.name=x -c user.email=x@y commit -qm new';
  const committing = await createScene(`printf '%s' "$DEPLOY_TOKEN" > new; ${commit}`);
  expect(await committing.run()).toMatchObject(waits);
});

/** Cannot search what has a word in it. */
function failingRedactor(): Redactor {
  const inner = createRedactor({ key: new Uint8Array(32), known: [] });
  const check = (text: string): void => {
    if (text.includes('did it')) throw new RedactionFailed('too slow', 'wait');
  };
  return {
    table: inner.table,
    redactText: (text, path) => (check(text), inner.redactText(text, path)),
    redactValue: (value, keep) => (check(JSON.stringify(value)), inner.redactValue(value, keep)),
    openStream: () => inner.openStream(),
  };
}

test('a reply that cannot be searched is kept where nobody can read it, and stored by a word', async () => {
  const scene = await createScene(':', failingRedactor());
  const hint = expect.stringContaining(`resume ${scene.thread} --allow-secrets`) as string;
  for (const verb of ['step', 'step', 'run'] as const) {
    await expect(scene[verb]()).rejects.toMatchObject({ code: 'redaction-failed', hint });
  }
  expect(scene.runs()).toEqual(['a']);
  const { kept } = await scene.view();
  expect(readFileSync(kept ?? '', 'utf8')).not.toContain('did it');
  expect(placesOf(['a did it'], allWritten(scene.dir))).toEqual([]);
  await expect(scene.resume({ allowSecrets: true })).rejects.toMatchObject({ code: 'redaction-failed' });
  expect(await scene.read('output.md')).toBe('a did it.');
  expect(scene.runs()).toEqual(['a']);
});

test('a turn that cannot be held waits with what it said, and a suspension that cannot be stored is kept', async () => {
  const full = await createScene(`${leaves}; rm -rf .git/uwf/pending; : > .git/uwf/pending`);
  expect(await full.run()).toMatchObject({ ...waits, role: 'a' });
  expect(await full.read('output.md')).toBe('a did it.');

  const locked = await createScene(`${leaves}; [ -e .git/free ] || : > .git/refs/threads/$UWF_THREAD.lock`);
  await expect(locked.run()).rejects.toMatchObject({ code: 'ref-locked', isKept: true });
  rmSync(join(locked.dir, '.git', 'refs', 'threads', `${locked.thread}.lock`));
  writeFileSync(join(locked.dir, '.git', 'free'), '');
  expect(await locked.run()).toMatchObject(waits);
  clean(locked);
  expect(await locked.resume()).toMatchObject({ event: 'thread.ended' });
  expect(locked.runs()).toEqual(['a', 'b']);
});

test('what a held turn has cost counts while it is held, and where another turn takes its place', async () => {
  const agents = { a: { package: 'spender', config: {} } };
  const scene = await scenario({
    flow: 'a > end',
    agents,
    roles: { a: statuses('done') },
    config,
    engine: { env },
    prompt: null,
  });
  const descriptor = "{ name: 'spender', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } }";
  const usage = { inputTokens: 10, outputTokens: 1, turns: 1, costUsd: 0.5 };
  const run = `async (request) => {
    require('node:fs').writeFileSync(request.cwd + '/new', request.answer ? 'clean' : request.env.DEPLOY_TOKEN);
    return { kind: 'reply', text: 'Done.', meta: { $status: 'done' }, usage: ${JSON.stringify(usage)} };
  }`;
  const source = `exports.packageDescriptor = ${descriptor}; exports.createAgent = () => ({ run: ${run} });`;
  installAgent(scene.dir, 'spender', source);
  await scene.start();
  expect(await scene.run()).toMatchObject(waits);
  expect(await scene.view()).toMatchObject({ usage });
  writeFileSync(join(scene.dir, 'new'), 'clean');
  expect(await scene.resume()).toMatchObject({ event: 'thread.ended' });
  expect(await scene.view()).toMatchObject({ usage });

  await scene.start('Once more.');
  expect(await scene.run()).toMatchObject(waits);
  expect(await scene.resume('Once more.')).toMatchObject({ event: 'thread.ended' });
  expect(await scene.view()).toMatchObject({ usage: { turns: 2, costUsd: 1 } });
  await scene.start('And cancelled.');
  expect(await scene.run()).toMatchObject(waits);
  await scene.engine.cancel(scene.thread);
  expect(await scene.view()).toMatchObject({ usage });
});
