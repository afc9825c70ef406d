import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRedactor } from '../../../src/redaction/create-redactor.ts';
import { RedactionFailed } from '../../../src/redaction/redactor.ts';
import type { Redactor } from '../../../src/redaction/redactor.ts';
import { allWritten, placesOf } from '../../helpers/all-written.ts';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { verifyThreads } from '../../../src/verify/verify-threads.ts';
import { installAgent } from '../../helpers/install-agent.ts';
import { configOf, createFixture, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

const secret = 'Xk9#vQ2/plover+Lm7=zR';
const chain = workflow('chain', { a: statuses('done'), b: statuses('done') }, [
  { from: '__start__', to: 'a', when: null },
  { from: 'a', to: 'b', when: null },
  { from: 'b', to: '__end__', when: null },
]);

type Scene = EngineFixture & { runs: () => number; held: (thread: string) => string };

async function createScene(does: string, redactor?: Redactor): Promise<Scene> {
  const script = `echo x >> .git/runs; ${does}; printf -- '---\\n$status: done\\n---\\n%s did it.\\n' $UWF_ROLE`;
  const agent = { package: 'builtin:command', config: { argv: ['sh', '-c', script] } };
  const config = { ...configOf({ a: agent, b: agent }), snapshot: { mode: 'on' as const } };
  const env = { PATH: process.env['PATH'], DEPLOY_TOKEN: secret };
  const fixture = await createFixture(config, { env, ...(redactor && { redactor }) });
  writeFileSync(join(fixture.dir, 'file'), `one\n`);
  fixture.git('add', '.');
  fixture.git('commit', '--quiet', '-m', 'files');
  return {
    ...fixture,
    runs: () =>
      readFileSync(join(fixture.dir, '.git', 'runs'), 'utf8')
        .trim()
        .split('\n').length,
    held: (thread) => join(fixture.dir, '.git', 'uwf', 'pending', `${thread}.json`),
  };
}

const leaves = `[ -e new ] || { mkdir -p sub && printf 'first\\nkey %s\\n' "$DEPLOY_TOKEN" > sub/new; : > new; }`;

test('a turn whose files hold a secret waits, and is stored without another turn when it is gone', async () => {
  const scene = await createScene(leaves);
  const { engine, dir, git } = scene;
  const { thread } = await engine.start({ definition: chain, prompt: 'x' });
  const over = await engine.run(thread);
  expect(over).toMatchObject({ event: 'thread.suspended', cause: 'secret', role: 'a' });
  expect(over.text).toContain('sub/new line 2 (known)');
  expect(placesOf([secret], allWritten(dir))).toEqual([]);
  // It is there still.
  expect(await engine.resume(thread)).toMatchObject({ event: 'thread.suspended', cause: 'secret' });
  expect(scene.runs()).toBe(1);
  writeFileSync(join(dir, 'sub', 'new'), 'first\n');
  const done = await engine.resume(thread);
  expect(done).toMatchObject({ event: 'thread.ended' });
  expect(scene.runs()).toBe(2);
  expect(git('show', `${done.head}^:output.md`)).toBe('b did it.');
  expect(git('show', `${done.head}~2:output.md`)).toBe('a did it.');
  expect(git('show', `${done.head}~2^2:sub/new`)).toBe('first');
  expect(existsSync(scene.held(thread))).toBe(false);
  expect(placesOf([secret], allWritten(dir))).toEqual([]);
});

test('with allowSecrets the files are stored as they are', async () => {
  const scene = await createScene(leaves);
  const { thread } = await scene.engine.start({ definition: chain, prompt: 'x' });
  await scene.engine.run(thread);
  const done = await scene.engine.resume(thread, { allowSecrets: true });
  // The next turn has changed nothing against what was recorded last.
  expect(done).toMatchObject({ event: 'thread.ended' });
  expect(scene.runs()).toBe(2);
  expect(scene.git('show', `${done.head}^^2:sub/new`)).toBe(`first\nkey ${secret}`);
});

test('with an answer, or where nothing is held any more, the role takes its turn again', async () => {
  const scene = await createScene(leaves);
  const { thread } = await scene.engine.start({ definition: chain, prompt: 'x' });
  await scene.engine.run(thread);
  writeFileSync(join(scene.dir, 'sub', 'new'), 'first\n');
  expect(await scene.engine.resume(thread, { answer: 'Once more.' })).toMatchObject({ event: 'thread.ended' });
  expect(scene.runs()).toBe(3);
  expect(existsSync(scene.held(thread))).toBe(false);

  const other = await createScene(leaves);
  const { thread: second } = await other.engine.start({ definition: chain, prompt: 'x' });
  await other.engine.run(second);
  rmSync(other.held(second));
  writeFileSync(join(other.dir, 'sub', 'new'), 'first\n');
  expect(await other.engine.resume(second)).toMatchObject({ event: 'thread.ended' });
  expect(other.runs()).toBe(3);
});

test('what was there before the turn, or was committed in it, is told apart', async () => {
  const scene = await createScene(':');
  writeFileSync(join(scene.dir, 'old'), `key ${secret}\n`);
  scene.git('add', '.');
  scene.git('commit', '--quiet', '-m', 'old');
  const { thread } = await scene.engine.start({ definition: chain, prompt: 'x' });
  expect(await scene.engine.run(thread)).toMatchObject({ event: 'thread.ended' });

  const committing = await createScene(
    `printf '%s' "$DEPLOY_TOKEN" > new; git add new; git -c user.name=x -c user.email=x@y commit -qm new`,
  );
  const { thread: second } = await committing.engine.start({ definition: chain, prompt: 'x' });
  expect(await committing.engine.run(second)).toMatchObject({ event: 'thread.suspended', cause: 'secret' });
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
  const { engine, dir } = scene;
  const { thread } = await engine.start({ definition: chain, prompt: 'x' });
  const refused = { code: 'redaction-failed', hint: expect.stringContaining(`resume ${thread} --allow-secrets`) };
  await expect(engine.step(thread)).rejects.toMatchObject(refused);
  await expect(engine.step(thread)).rejects.toMatchObject(refused);
  await expect(engine.run(thread)).rejects.toMatchObject(refused);
  expect(scene.runs()).toBe(1);
  const { kept } = await engine.describe(thread);
  expect(readFileSync(kept ?? '', 'utf8')).not.toContain('did it');
  expect(placesOf(['a did it'], allWritten(dir))).toEqual([]);
  await expect(engine.resume(thread, { allowSecrets: true })).rejects.toMatchObject({ code: 'redaction-failed' });
  expect(scene.git('show', `refs/threads/${thread}:output.md`)).toBe('a did it.');
  expect(scene.runs()).toBe(1);
});

test('a turn that cannot be held waits with what it said, and a suspension that cannot be stored is kept', async () => {
  const full = await createScene(`${leaves}; rm -rf .git/uwf/pending; : > .git/uwf/pending`);
  const { thread } = await full.engine.start({ definition: chain, prompt: 'x' });
  const over = await full.engine.run(thread);
  expect(over).toMatchObject({ event: 'thread.suspended', cause: 'secret', role: 'a' });
  expect(full.git('show', `${over.head}:output.md`)).toBe('a did it.');

  const locked = await createScene(`${leaves}; [ -e .git/free ] || : > .git/refs/threads/$UWF_THREAD.lock`);
  const { thread: second } = await locked.engine.start({ definition: chain, prompt: 'x' });
  await expect(locked.engine.run(second)).rejects.toMatchObject({ code: 'ref-locked', isKept: true });
  rmSync(join(locked.dir, '.git', 'refs', 'threads', `${second}.lock`));
  writeFileSync(join(locked.dir, '.git', 'free'), '');
  expect(await locked.engine.run(second)).toMatchObject({ event: 'thread.suspended', cause: 'secret' });
  writeFileSync(join(locked.dir, 'sub', 'new'), 'first\n');
  expect(await locked.engine.resume(second)).toMatchObject({ event: 'thread.ended' });
  expect(locked.runs()).toBe(2);
});

test('what a held turn has cost counts while it is held, and where another turn takes its place', async () => {
  const config = { ...configOf({ a: { package: 'spender', config: {} } }), snapshot: { mode: 'on' as const } };
  const fixture = await createFixture(config, { env: { PATH: process.env['PATH'], DEPLOY_TOKEN: secret } });
  const { engine, dir } = fixture;
  const descriptor = "{ name: 'spender', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } }";
  const usage = { inputTokens: 10, outputTokens: 1, turns: 1, costUsd: 0.5 };
  const run = `async (request) => {
    require('node:fs').writeFileSync(request.cwd + '/new', request.answer ? 'clean' : request.env.DEPLOY_TOKEN);
    return { kind: 'reply', text: 'Done.', meta: { $status: 'done' }, usage: ${JSON.stringify(usage)} };
  }`;
  installAgent(
    dir,
    'spender',
    `exports.packageDescriptor = ${descriptor}; exports.createAgent = () => ({ run: ${run} });`,
  );
  const once = workflow('once', { a: statuses('done') }, [
    { from: '__start__', to: 'a', when: null },
    { from: 'a', to: '__end__', when: null },
  ]);
  const held = await engine.start({ definition: once, prompt: 'x' });
  expect(await engine.run(held.thread)).toMatchObject({ cause: 'secret' });
  expect(await engine.describe(held.thread)).toMatchObject({ usage });
  writeFileSync(join(dir, 'new'), 'clean');
  expect(await engine.resume(held.thread)).toMatchObject({ event: 'thread.ended' });
  expect(await engine.describe(held.thread)).toMatchObject({ usage });

  const dropped = await engine.start({ definition: once, prompt: 'y' });
  expect(await engine.run(dropped.thread)).toMatchObject({ cause: 'secret' });
  expect(await engine.resume(dropped.thread, { answer: 'Once more.' })).toMatchObject({ event: 'thread.ended' });
  expect(await engine.describe(dropped.thread)).toMatchObject({ usage: { turns: 2, costUsd: 1 } });
  const cancelled = await engine.start({ definition: once, prompt: 'z' });
  expect(await engine.run(cancelled.thread)).toMatchObject({ cause: 'secret' });
  await engine.cancel(cancelled.thread);
  expect(await engine.describe(cancelled.thread)).toMatchObject({ usage });
  for await (const verdict of verifyThreads(readingContext(fixture.repository)))
    expect(verdict).toMatchObject({ findings: [] });
});
