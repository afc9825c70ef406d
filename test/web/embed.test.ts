import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createWebHandler, engineActions, type Engine, type Repository } from '../../src/index.ts';
import type { WebOptions } from '../../src/web/site.ts';
import { createFixture, scripted, statuses, workflow } from '../engine/engine-fixture.ts';
import { hiddenIn } from '../helpers/web-visitor.ts';
import { rulesOf } from '../helpers/plot.ts';

const token = 'a-token-of-the-embedding-program';

const workflowFile = `name: ask
description: asks
roles:
  asker: { description: d, systemPrompt: s, schema: { properties: { $status: { const: told } } } }
moderator: [{ from: __start__, to: asker }, { from: asker, to: __end__ }]
`;

type Handler = (request: Request) => Promise<Response>;

/** Serves a handler as a program would that knows only Node. @returns the address */
async function serve(handler: Handler): Promise<string> {
  const server = createServer((incoming, outgoing) => void answer(handler, incoming, outgoing));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  // It listens on a port.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function answer(handler: Handler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/', headers } = incoming;
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
  const response = await handler(
    new Request(`http://${headers.host}${url}`, {
      method,
      headers: Object.entries(headers).flatMap(([name, value]): [string, string][] => [[name, String(value)]]),
      ...(method === 'POST' && { body: Buffer.concat(chunks) }),
    }),
  );
  outgoing.writeHead(response.status, [...response.headers].flat());
  for await (const chunk of response.body ?? []) outgoing.write(chunk);
  outgoing.end();
}

/** A program that has the page in its own server, with a thread that waits for an answer. */
async function embedded(options: Partial<WebOptions> = {}): Promise<{
  engine: Engine;
  repository: Repository;
  thread: string;
  origin: string;
  failures: unknown[];
  /** Sends a form as the page does. */
  post(path: string, form: Record<string, string>, cookie?: string): Promise<Response>;
}> {
  const { repository, engine } = await createFixture(
    scripted({ asker: [{ suspend: 'May I?', reply: '---\n$status: told\n---\nYou said {{answer}}' }] }),
  );
  const rules = rulesOf('asker > end');
  const { thread } = await engine.start({
    definition: workflow('ask', { asker: statuses('told') }, rules),
    prompt: 'Ask <me>',
  });
  await engine.run(thread);
  const failures: unknown[] = [];
  const actions = engineActions(repository, engine, { onFailure: (_, error) => failures.push(error) });
  const origin = await serve(createWebHandler(repository, { secret: { token }, actions, ...options }));
  const post = (path: string, form: Record<string, string>, cookie = ''): Promise<Response> =>
    fetch(origin + path, { method: 'POST', redirect: 'manual', headers: { cookie }, body: new URLSearchParams(form) });
  return { engine, repository, thread, origin, failures, post };
}

async function logIn(post: Awaited<ReturnType<typeof embedded>>['post']): Promise<string> {
  const response = await post('/login', { secret: token, to: '/' });
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

test.each<[string, Pick<WebOptions, 'secret' | 'key'>]>([
  ['an empty token', { secret: { token: '' } }],
  ['an empty token for one visitor', { secret: { token, once: '' } }],
  ['an empty password', { secret: { password: '' } }],
  ['a short key', { secret: { token }, key: new Uint8Array(31) }],
])('a page with %s would let anybody in, and is refused', async (_, options) => {
  const { repository } = await createFixture(scripted({}));
  expect(() => createWebHandler(repository, options)).toThrow(
    expect.objectContaining({ code: 'weak-secret', kind: 'usage' }),
  );
});

test('a program that embeds the page has visitors who log in, read and answer', async () => {
  const { engine, thread, origin, failures, post } = await embedded();
  expect((await fetch(origin, { redirect: 'manual' })).headers.get('location')).toBe('/login?to=%2F');
  const cookie = await logIn(post);
  // A page waits for its list for 150 ms at most.
  const inbox = async (): Promise<string> => (await fetch(`${origin}/inbox`, { headers: { cookie } })).text();
  await expect.poll(inbox).toContain('Ask &lt;me&gt;');
  const page = await (await fetch(`${origin}/t/${thread}`, { headers: { cookie } })).text();
  const answered = await post(`/t/${thread}/resume`, { ...hiddenIn(page), answer: 'Yes.' }, cookie);
  expect([answered.status, answered.headers.get('location')]).toEqual([303, `/t/${thread}`]);
  expect(await engine.join(thread)).toMatchObject({ event: 'thread.ended' });
  expect(await (await fetch(`${origin}/t/${thread}`, { headers: { cookie } })).text()).toContain('You said Yes.');
  expect(failures).toEqual([]);
});

test('of two visitors of an embedded page who answer at once, one is told that the other was faster', async () => {
  const { engine, thread, origin, post } = await embedded();
  const cookie = await logIn(post);
  const hidden = hiddenIn(await (await fetch(`${origin}/t/${thread}`, { headers: { cookie } })).text());
  const answers = ['Yes.', 'No.'].map((answer) => post(`/t/${thread}/resume`, { ...hidden, answer }, cookie));
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([303, 409]));
  expect(await engine.join(thread)).toMatchObject({ event: 'thread.ended' });
});

test('a run that its visitor is not told about any more, and that fails, is told to the program', async () => {
  const { engine, thread, failures, post, origin } = await embedded();
  const cookie = await logIn(post);
  const { head } = await engine.describe(thread);
  const form = hiddenIn(await (await fetch(`${origin}/t/${thread}`, { headers: { cookie } })).text());
  // A suspended thread has no newest step.
  expect((await post(`/t/${thread}/poke`, { ...form, head, word: 'Again' }, cookie)).status).toBe(303);
  await expect.poll(() => failures).toEqual([expect.objectContaining({ code: 'wrong-thread-state' })]);
  expect(await engine.describe(thread)).toMatchObject({ holder: null, status: 'suspended' });
});

test('a thread that is started on an embedded page runs in that program, and its fork is another thread', async () => {
  const { engine, repository, origin, thread, post } = await embedded();
  const { workTree = '' } = repository.location ?? {};
  mkdirSync(join(workTree, '.uwf/workflows'), { recursive: true });
  writeFileSync(join(workTree, '.uwf/workflows/ask.yaml'), workflowFile);
  const cookie = await logIn(post);
  const { form = '' } = hiddenIn(await (await fetch(`${origin}/start`, { headers: { cookie } })).text());
  const started = await post('/start', { form, workflow: 'ask', prompt: 'Another' }, cookie);
  const id = started.headers.get('location')?.replace('/t/', '') ?? '';
  expect(await engine.join(id)).toMatchObject({ event: 'thread.suspended' });
  const forked = await post(`/t/${thread}/fork`, { form, step: '0' }, cookie);
  expect(forked.headers.get('location')).toMatch(/^\/t\/[0-9A-Z]{26}$/);
  expect((await post(`/t/${thread}/fork`, { form, step: '7' }, cookie)).status).toBe(400);
});

test('the streams of an embedded page end with its signal', async () => {
  const ending = new AbortController();
  const { origin, post } = await embedded({ signal: ending.signal });
  const live = await fetch(`${origin}/live?state=threads@`, { headers: { cookie: await logIn(post) } });
  const text = live.text();
  ending.abort();
  expect(await text).toContain('event: beat');
});
