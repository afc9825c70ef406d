import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';

import { getThread } from '../../../src/thread/find-thread.ts';
import { resumeThread } from '../../../src/thread/thread-verbs.ts';
import { readState } from '../../../src/thread/thread-state.ts';
import { descendantsOf, isGroupAlive } from '../../../src/agent/processes/process-group.ts';
import type { JsonObject } from '../../../src/json.ts';
import type { Config } from '../../../src/engine/config/config.ts';
import type { EngineOptions } from '../../../src/engine/engine-context.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { configOf, createFixture, statuses, workflow } from '../../engine/engine-fixture.ts';
import { temporaryFolder } from '../../helpers/agent-request.ts';
import { bundledAcpAgent } from '../../helpers/bundled-acp-agent.ts';
import { runScripted } from './acp-fixture.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

const loop = workflow('loop', { worker: statuses('done'), other: statuses('done') }, [
  { from: '__start__', to: 'worker', when: null },
  { from: 'worker', to: 'other', when: null },
  { from: 'other', to: 'worker', when: "$visits('worker') < 3" },
  { from: 'other', to: '__end__', when: null },
]);
const once = workflow('once', { worker: statuses('done') }, [
  { from: '__start__', to: 'worker', when: null },
  { from: 'worker', to: '__end__', when: null },
]);

function acp(words: readonly string[], config: JsonObject = {}): { package: string; config: JsonObject } {
  const command = [process.execPath, bundledAcpAgent, ...words];
  return { package: 'builtin:acp', config: { command, mcp: false, graceMs: 300, ...config } };
}

test('a role that is visited three times goes on in one session, and each process ends with its turn', async () => {
  const store = temporaryFolder();
  const before = descendantsOf(process.pid);
  const agent = acp([`--store=${store}`, '--load', 'reply']);
  const fixture = await createFixture(configOf({ worker: agent, other: acp(['reply']) }));
  const { thread } = await fixture.engine.start({ definition: loop, prompt: 'Work.' });
  await expect(fixture.engine.run(thread)).resolves.toMatchObject({ event: 'thread.ended' });
  const [session] = readdirSync(store);
  expect(readdirSync(store)).toHaveLength(1);
  const kept = JSON.parse(readFileSync(join(store, session ?? ''), 'utf8')) as { turns: { prompt: string }[] };
  expect(kept.turns).toHaveLength(3);
  expect(kept.turns.every(({ prompt }) => prompt.includes('You are worker'))).toBe(true);
  // The git that changes refs ends when it has had nothing to do for a while.
  await vi.waitFor(() => expect(descendantsOf(process.pid).filter((pid) => !before.includes(pid))).toEqual([]), 10_000);
});

test('a reply that is not accepted is corrected in the session that it came from', async () => {
  // It gives a good reply only to the second prompt of a session.
  const fixture = await createFixture(configOf({ worker: acp(['wrongThenRight']) }));
  const { thread } = await fixture.engine.start({ definition: once, prompt: 'Work.' });
  await expect(fixture.engine.run(thread)).resolves.toMatchObject({ event: 'thread.ended' });
  expect(fixture.events.filter(({ event }) => event === 'reply.refused')).toHaveLength(1);
});

test('a role whose session is lost is told the whole story', async () => {
  const store = temporaryFolder();
  const worker = acp([`--store=${store}`, '--load', 'reply']);
  const fixture = await createFixture(configOf({ worker, other: acp(['reply']) }));
  const { thread } = await fixture.engine.start({ definition: loop, prompt: 'Work.' });
  await fixture.engine.step(thread);
  await fixture.engine.step(thread);
  for (const file of readdirSync(store)) rmSync(join(store, file));
  await fixture.engine.step(thread);
  const said = fixture.events.flatMap((event) => (event.event === 'agent.text' ? [event.text] : [])).join('');
  expect(said.match(/Be the worker\./gu)?.length).toBeGreaterThanOrEqual(2);
  await expect(fixture.engine.run(thread)).resolves.toMatchObject({ event: 'thread.ended' });
});

test('an agent that has to log in again in the middle of its turn suspends it, and what it said is kept', async () => {
  const fixture = await createFixture(configOf({ worker: acp(['logOut']) }));
  const { thread } = await fixture.engine.start({ definition: once, prompt: 'Work.' });
  const over = await fixture.engine.run(thread);
  expect(over).toMatchObject({ event: 'thread.suspended', text: expect.stringContaining('wants a person to log in') });
  expect(fixture.git('show', `${over.head}:output.md`)).toBe('So far so good.');
});

test('an agent that goes on spending is stopped at the limit of cost, and what it has cost counts', async () => {
  const limits = { maxCostUsd: 0.05, timeoutMs: 10_000 };
  const fixture = await createFixture({ ...configOf({ worker: acp(['spend', 'hang']) }), limits });
  const { thread } = await fixture.engine.start({ definition: once, prompt: 'Work.' });
  const text = 'the limit of 0.05 US dollars is exceeded';
  expect(await fixture.engine.run(thread)).toMatchObject({ event: 'thread.suspended', cause: 'limit', text });
  await expect(fixture.engine.resume(thread)).rejects.toMatchObject({ code: 'waits-at-limit', used: 0.1 });
});

test('what a session has cost until it was cut off is told then, and its next turn counts from there', async () => {
  const words = [`--store=${temporaryFolder()}`, '--resume'];
  const first = await runScripted([...words, 'spend', 'reply']);
  const { session } = first.reply as { session: string }; // as every reply of this agent has one
  const cutOff = await runScripted([...words, 'spend', 'die'], { session });
  expect(cutOff.events.findLast(({ kind }) => kind === 'usage')).toHaveProperty('usage.costUsd', 0.1);
  expect(cutOff.events.findLast(({ kind }) => kind === 'session')).toEqual({
    kind: 'session',
    session: JSON.stringify({ id: JSON.parse(session).id as string, costUsd: 0.2 }),
  });
  const lost = await runScripted(['spend', 'die']);
  expect(lost.events.findLast(({ kind }) => kind === 'usage')).toHaveProperty('usage.costUsd', 0.1);
});

test('a turn that was cut off goes on in its session, which leaves this machine in nothing', async () => {
  const words = [`--store=${temporaryFolder()}`, '--load'];
  const fixture = await createFixture(configOf({ worker: acp([...words, 'spend', 'hang']) }));
  const { repository, git } = fixture;
  const { thread } = await fixture.engine.start({ definition: once, prompt: 'Work.' });
  const stop = new AbortController();
  const { createEngine } = await import('../../../src/engine/engine.ts');
  const env = { PATH: process.env['PATH'] };
  const engineWith = (config: Config, more: Partial<EngineOptions> = {}): Engine =>
    createEngine({ repository, config, env, ...more });
  const cutOff = engineWith(configOf({ worker: acp([...words, 'spend', 'hang']) }), {
    signal: stop.signal,
    onEvent: ({ event }) => event === 'agent.usage' && stop.abort(),
  });
  await expect(cutOff.run(thread)).rejects.toMatchObject({ code: 'interrupted' });
  expect(await fixture.engine.describe(thread)).toMatchObject({ usage: { costUsd: 0.1, isAtLeast: true } });
  const said: string[] = [];
  const next = engineWith(configOf({ worker: acp([...words, 'session', 'spend', 'reply']) }), {
    onEvent: (event) => event.event === 'agent.text' && said.push(event.text),
  });
  expect(await next.run(thread)).toMatchObject({ event: 'thread.ended' });
  expect(said.join('')).toContain('Be the worker.');
  expect(await fixture.engine.describe(thread)).toMatchObject({ usage: { costUsd: 0.2, isAtLeast: true } });
  expect(git('log', '--all', '-p')).not.toContain('session-');
});

test('a permission that nobody can give suspends the thread, which goes on once it is configured', async () => {
  const allowed = { permissions: { rules: [{ kinds: ['execute'], answer: 'allow' }] } };
  const asking = acp(['permission', 'reply']);
  const fixture = await createFixture(configOf({ worker: asking }));
  const { thread } = await fixture.engine.start({ definition: once, prompt: 'Work.' });
  const over = await fixture.engine.run(thread);
  expect(over).toMatchObject({ event: 'thread.suspended', text: expect.stringContaining('npm publish (execute)') });
  expect(fixture.git('show', `refs/threads/${thread}:suspend.json`)).toContain('"cause": "permission"');
  expect(fixture.events).toContainEqual(expect.objectContaining({ event: 'agent.refusal' }));

  const { createEngine } = await import('../../../src/engine/engine.ts');
  const config = configOf({ worker: acp(['permission', 'reply'], allowed) });
  const { repository } = fixture;
  const engine = createEngine({ repository, config, env: { PATH: process.env['PATH'] } });
  await expect(engine.resume(thread)).resolves.toMatchObject({ event: 'thread.ended' });
});

test('a permission is given by an answer here, and not by one that came with the thread', async () => {
  const fixture = await createFixture(configOf({ worker: acp(['permission', 'reply']) }));
  const { engine, repository } = fixture;
  const { thread } = await engine.start({ definition: once, prompt: 'Work.' });
  await expect(engine.run(thread)).resolves.toMatchObject({ event: 'thread.suspended' });
  const { head } = await getThread(repository, thread);
  await resumeThread(repository, await readState(repository, thread, head), 'yes');
  await expect(engine.run(thread)).resolves.toMatchObject({ event: 'thread.suspended', cause: 'permission' });
  await expect(engine.resume(thread, { answer: 'yes' })).resolves.toMatchObject({ event: 'thread.ended' });
});

test('of a uwf that was killed, the agent and what it had run are ended by the next command', async () => {
  const { dir, git } = createTemporaryRepository();
  git('commit', '--quiet', '--allow-empty', '-m', 'Begin');
  mkdirSync(join(dir, '.uwf'));
  const config = configOf({ worker: acp(['fork', 'reply', 'hang']) });
  writeFileSync(join(dir, '.uwf', 'config.yaml'), JSON.stringify(configFile(config.agents)));
  writeFileSync(join(dir, 'once.yaml'), JSON.stringify({ ...once, name: 'once' }));
  const program = resolve(import.meta.dirname, '../../../bin/uwf.js');
  const env = { PATH: process.env['PATH'] ?? '', HOME: dir, UWF_TRUST: 'all' };
  const uwf = spawn(process.execPath, [program, 'run', 'once.yaml', '-p', 'Work.'], { cwd: dir, env, stdio: 'ignore' });
  const leases = join(dir, '.git', 'uwf', 'leases');
  const groups = await waitFor(() => groupsIn(leases).length === 1 && groupsIn(leases));
  uwf.kill('SIGKILL');
  const [file = ''] = readdirSync(leases).filter((name) => name.startsWith('01'));
  expect(groups.map((pgid) => isGroupAlive(pgid))).toContain(true);
  const stop = spawn(process.execPath, [program, 'thread', 'stop', file.slice(0, 26)], {
    cwd: dir,
    env,
    stdio: 'ignore',
  });
  await new Promise((done) => stop.once('exit', done));
  expect(groups.map((pgid) => isGroupAlive(pgid))).toEqual([false]);
});

function configFile(agents: ReturnType<typeof configOf>['agents']): JsonObject {
  const declared = Object.values(agents).map(
    ({ name, package: reference, config }) => [name, { package: reference, config }] as const,
  );
  return { agents: Object.fromEntries(declared), defaultAgent: 'worker-agent' };
}

/** The process groups that the leases in a folder name. */
function groupsIn(folder: string): number[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    try {
      const record = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { processGroups: { pid: number }[] };
      return record.processGroups.map(({ pid }) => pid);
    } catch {
      return []; // being replaced, or no lease
    }
  });
}

async function waitFor<Value>(find: () => Value | false): Promise<Value> {
  for (let tries = 0; tries < 500; tries += 1) {
    const found = find();
    if (found !== false) return found;
    await sleep(20);
  }
  throw new Error('it did not come about');
}
