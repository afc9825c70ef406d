import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readingContext } from '../../../src/engine/engine-context.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { takeLease } from '../../../src/engine/leases/lease.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { engineActions } from '../../../src/web/engine-actions.ts';
import { WaitingThreads } from '../../../src/web/live/live.ts';
import { configOf, createFixture, statuses, workflow, type EngineFixture } from '../../engine/engine-fixture.ts';
import { bundledAcpAgent } from '../../helpers/bundled-acp-agent.ts';
import { hiddenIn, notingActions, visitorOf, type WebVisitor } from '../../helpers/web-visitor.ts';

const once = workflow('once', { worker: statuses('done') }, 'worker > end');

type Asked = {
  thread: string;
  noted: unknown[][];
  page(path?: string): Promise<string>;
  /** Sends the form of the thread's page, or of one that was loaded before. */
  send(fields: Record<string, string>, loaded?: string): Promise<Response>;
};

/** A thread that was run until it waits, with a visitor of its page. */
async function asked(fixture: EngineFixture, definition = once): Promise<Asked> {
  const { engine, repository } = fixture;
  const { thread } = await engine.start({ definition, prompt: 'Do <it>' });
  await engine.run(thread);
  const noted: unknown[][] = [];
  const visitor = await visitorOf(repository, { actions: notingActions(noted) });
  const page = (path = `/t/${thread}`): Promise<string> => visitor.page(path);
  const send = async (fields: Record<string, string>, loaded?: string): Promise<Response> => {
    const hidden = (loaded ?? (await page())).matchAll(
      /<input type="hidden" name="(form|head|asked)" value="([^"]*)"/g,
    );
    const own = Object.fromEntries([...hidden].map(([, name = '', value = '']) => [name, value]));
    return visitor.post(`/t/${thread}/resume`, { ...own, ...fields });
  };
  return { thread, noted, page, send };
}

test('a permission is asked for with the deed by itself, and is given or refused by a button', async () => {
  const command = [process.execPath, bundledAcpAgent, 'permission', 'reply'];
  const worker = { package: 'builtin:acp', config: { command, mcp: false, graceMs: 300 } };
  const { noted, page, send } = await asked(await createFixture(configOf({ worker })));
  const html = await page();
  expect(html).toContain('worker asks for a permission');
  expect(html).toContain('<pre class="plain deed">run npm publish (execute)</pre>');
  expect(html).not.toContain('<textarea id="answer');
  expect((await send({})).status).toBe(422);
  expect((await send({ permission: 'perhaps' })).status).toBe(422);
  expect(noted).toEqual([]);
  expect((await send({ permission: 'yes' })).status).toBe(303);
  expect((await send({ permission: 'no' })).status).toBe(303);
  expect(noted.map(([name, , given]) => [name, given])).toEqual([
    ['resume', { answer: 'yes' }],
    ['resume', { answer: 'no' }],
  ]);
});

test('a turn whose files hold a secret says what to do, and goes on without an answer', async () => {
  const script = `printf 'key %s\\n' "$DEPLOY_TOKEN" > new; printf -- '---\\n$status: done\\n---\\nDone.\\n'`;
  const worker = { package: 'builtin:command', config: { argv: ['sh', '-c', script] } };
  const env = { PATH: process.env['PATH'], DEPLOY_TOKEN: 'Xk9#vQ2/plover+Lm7=zR' };
  const fixture = await createFixture({ ...configOf({ worker }), snapshot: { mode: 'on' } }, { env });
  writeFileSync(join(fixture.dir, 'file'), 'one\n');
  fixture.git('add', '.');
  fixture.git('commit', '--quiet', '-m', 'files');
  const { noted, page, send } = await asked(fixture);
  const html = await page();
  expect(html).toContain('worker waits to go on');
  expect(html).toContain('Take the secrets out of the files first');
  expect(html).not.toContain('plover');
  expect((await send({})).status).toBe(303);
  expect(noted.map(([name, , given]) => [name, given])).toEqual([['resume', {}]]);
});

/** An engine whose threads let a child ask a person. */
function createFixtureWithChild(): Promise<EngineFixture> {
  const config = configOf({ me: { package: 'builtin:human', config: {} } });
  config.agents['sub'] = { name: 'sub', package: 'builtin:workflow', config: { workflow: 'child' } };
  config.roles = { worker: 'sub', person: 'me-agent' };
  const child = workflow('child', { person: statuses('done', 'refused') }, 'person > end');
  const resolveWorkflow = (): Promise<WorkflowDefinition> => Promise.resolve(child);
  return createFixture(config, { resolveWorkflow });
}

/** A child that asks, its caller, and a visitor whose answers are given to the engine. */
async function askedTwice(): Promise<{
  fixture: EngineFixture;
  parent: string;
  child: string;
  visitor: WebVisitor;
  formOf(thread: string): Promise<Record<string, string>>;
}> {
  const fixture = await createFixtureWithChild();
  const { engine, repository } = fixture;
  const { thread: parent } = await engine.start({ definition: once, prompt: 'Do it' });
  await engine.run(parent);
  const child = (await engine.describe(parent)).waitsFor ?? '';
  const visitor = await visitorOf(repository, { actions: engineActions(repository, engine) });
  const formOf = async (thread: string): Promise<Record<string, string>> =>
    hiddenIn(await visitor.page(`/t/${thread}`));
  return { fixture, parent, child, visitor, formOf };
}

test('the question of a child is asked at its caller, counted once, and not answered there when it was answered', async () => {
  const fixture = await createFixtureWithChild();
  const { thread, noted, page, send } = await asked(fixture);
  const { waitsFor } = await fixture.engine.describe(thread);
  const html = await page();
  expect(html).toContain(`The question is that of the child thread <a href="/t/${waitsFor}">`);
  const inbox = await page('/inbox');
  expect(inbox.match(/<article class="waiting"/g)).toHaveLength(1);
  expect(inbox).toContain(`<article class="waiting" id="${thread}"`);
  const context = readingContext(fixture.repository);
  await expect.poll(() => new WaitingThreads(context).state()).toMatch(/^1\./);
  expect((await send({ '/%24status': 'done' })).status).toBe(303);
  expect(noted.map(([name, id, given]) => [name, id, given])).toEqual([
    ['resume', thread, { answer: '---\n$status: done\n---\n' }],
  ]);
  await fixture.engine.resume(waitsFor ?? '', { answer: '---\n$status: refused\n---\n' });
  const late = await send({ '/%24status': 'done', answer: 'Mine.' }, html);
  expect(late.status).toBe(409);
  expect(await late.text()).toContain('Mine.');
  expect(noted).toHaveLength(1);
});

test('of two who answer a child and its caller at once, at most one goes on, and the other is told', async () => {
  const { fixture, parent, child, visitor, formOf } = await askedTwice();
  const forms = await Promise.all([formOf(parent), formOf(child)]);
  const answers = [parent, child].map((thread, index) =>
    visitor.post(`/t/${thread}/resume`, { ...forms[index], '/%24status': 'done' }),
  );
  const codes = (await Promise.all(answers)).map(({ status }) => status);
  expect(codes.filter((status) => status === 303).length).toBeLessThan(2);
  // Refused before or after the other one has the lease.
  expect(codes.filter((status) => ![303, 400, 409].includes(status))).toEqual([]);
  await fixture.engine.join(child);
  const over = await fixture.engine.join(parent);
  // Where both were refused, the question stands as it was.
  expect(over?.event).toBe(codes.includes(303) ? 'thread.ended' : 'thread.suspended');
});

test('a child is not answered while a process works on its caller', async () => {
  const { fixture, parent, child, visitor, formOf } = await askedTwice();
  const form = await formOf(child);
  const lease = await takeLease(fixture.repository, parseThreadId(parent));
  const response = await visitor.post(`/t/${child}/resume`, { ...form, '/%24status': 'done', answer: 'Mine.' });
  lease.release();
  expect(response.status).toBe(409);
  expect(await response.text()).toContain('Mine.');
  expect(await fixture.engine.describe(child)).toMatchObject({ status: 'suspended', holder: null });
});
