import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCliRepository } from '../../helpers/cli.ts';
import { startModelServer, type ScriptedAnswer } from '../../helpers/model-server.ts';
import {
  closeBrowserAfterwards,
  createPageRepository,
  isWithoutBrowser,
  logIn,
  openProfile,
  pageRepositoryOf,
  type PageRepository,
  type WebProcess,
} from './browser-fixture.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

/** It would set a variable of the page, in every place of a document that runs scripts. */
const hostile = `'"--><img src=x onerror=globalThis.ran=1><script>globalThis.ran=1</script><svg onload=globalThis.ran=1>`;
const links = `[l](javascript:globalThis.ran=1) <javascript:globalThis.ran=1> ![i](https://example.org/i.png)`;
const said = `${hostile} ${links}`;
const fileName = '<img src=x onerror=globalThis.ran=1>.txt';

/** A thread that has hostile text wherever a thread has text, and waits; and a fork of it. */
async function hostileRepository(): Promise<PageRepository> {
  const file = { path: fileName };
  const answers: ScriptedAnswer[] = [
    { thought: said, calls: [{ name: 'write_file', arguments: { ...file, content: `${said}\n` } }] },
    { text: said, calls: [{ name: 'read_file', arguments: file }] },
    { calls: [{ name: 'run_command', arguments: { command: `echo '${said.replaceAll("'", '"')}'; exit 1` } }] },
    { text: `---\n$status: done\nnote: ${JSON.stringify(said)}\n---\n${said}` },
    { text: `---\n$status: $SUSPEND\nreason: ${JSON.stringify(said)}\n---\n${said}` },
  ];
  const model = await startModelServer(answers);
  const role = {
    description: said,
    systemPrompt: said,
    schema: {
      properties: { $status: { enum: ['done', hostile] }, note: { type: 'string', title: said, description: said } },
      required: ['$status', 'note'],
    },
  };
  const cli = createCliRepository({
    '.uwf/workflows/bad.yaml': JSON.stringify({
      name: 'bad',
      description: said,
      // Names of roles and workflows have letters, digits, dots and hyphens only.
      roles: { coder: role, other: role },
      moderator: [
        { from: '__start__', to: 'coder', prompt: said },
        { from: 'coder', to: 'other', when: `"${fileName}" != ""` },
        { from: 'coder', to: 'coder' },
        { from: 'other', to: '__end__', prompt: said },
      ],
    }),
    '.uwf/config.yaml': JSON.stringify({
      agents: { m: { package: 'builtin:llm', config: { baseUrl: model.url, model: hostile } } },
      defaultAgent: 'm',
      snapshot: { mode: 'on' },
    }),
  });
  cli.git('commit', '--quiet', '--allow-empty', '--message', said);
  cli.git('checkout', '--quiet', '-b', '<script>globalThis.ran=1</script>');
  return pageRepositoryOf(cli);
}

/** What a server answers to a request that no browser would send. */
async function answerTo(
  { origin }: WebProcess,
  {
    path,
    method = 'GET',
    headers = {},
    bytes = 0,
  }: { path: string; method?: string; headers?: Record<string, string>; bytes?: number },
): Promise<IncomingMessage> {
  const { hostname, port } = new URL(origin);
  const length = bytes > 0 ? { 'content-length': String(bytes) } : {};
  const request = send({ hostname, port, path, method, headers: { ...length, ...headers } });
  // The server ends the connection while the body is sent.
  request.on('error', () => {});
  const answered = once(request, 'response') as Promise<[IncomingMessage]>;
  if (bytes > 0) request.write(Buffer.alloc(64 * 1024));
  else request.end();
  const [response] = await answered;
  response.resume();
  request.destroy();
  return response;
}

describe.skipIf(isLeftOut)('the page', () => {
  test('runs nothing of what a thread has, and loads nothing from elsewhere, on any page', async () => {
    const repository = await hostileRepository();
    await repository.run('run', 'bad', '-p', said);
    const [thread] = await repository.threads();
    expect(thread?.status).toBe('suspended');
    await repository.run('thread', 'fork', thread?.thread ?? '', '--at', '0');
    const server = await repository.serve();
    const page = await logIn(await openProfile(), server);
    const elsewhere: string[] = [];
    page.on('request', (request) => request.url().startsWith(server.origin) || elsewhere.push(request.url()));
    page.on('dialog', (dialog) => elsewhere.push(dialog.message()));
    const at = `/t/${thread?.thread ?? ''}`;
    const addresses = [
      '/',
      '/inbox',
      at,
      `${at}?view=timeline`,
      `${at}?view=graph`,
      `${at}/1`,
      '/w',
      '/w/bad',
      '/cost',
      '/start',
    ];
    const [, fork] = await repository.threads();
    addresses.push(
      `/diff/${thread?.thread}..${fork?.thread}`,
      `/?text=${encodeURIComponent(said)}`,
      `/w/${encodeURIComponent(hostile)}`,
    );
    addresses.push(
      `/t/${encodeURIComponent(hostile)}`,
      `/diff/${encodeURIComponent(hostile)}..x`,
      `${at}/${encodeURIComponent(hostile)}`,
    );
    let shown = 0;
    for (const path of addresses) {
      await page.goto(`${server.origin}${path}`);
      const alien = await page
        .locator(
          'main :is(img, script, iframe, object, embed, [onerror], [onload], [style]), svg script, a[href^="javascript:" i]',
        )
        .evaluateAll((elements) => elements.map((element) => (element as { outerHTML: string }).outerHTML));
      expect(alien, path).toEqual([]);
      expect(await page.evaluate('globalThis.ran'), path).toBeUndefined();
      if ((await page.locator('body').textContent())?.includes('onerror=globalThis.ran=1')) shown += 1;
    }
    expect(elsewhere).toEqual([]);
    // It is shown as text almost everywhere: otherwise this test would test nothing.
    expect(shown).toBeGreaterThan(9);
  });

  test('is neither read nor written by a page of another port of this machine', async () => {
    const repository = createPageRepository({ count: 1, everyMs: 10 });
    await repository.run('run', 'ask', '-p', 'Ask');
    const [thread] = await repository.threads();
    const server = await repository.serve();
    const page = await logIn(await openProfile(), server);
    const cancel = `${server.origin}/t/${thread?.thread}/cancel`;
    const other = createServer((_, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<form method=post action="${cancel}"><input name=head value="${thread?.head}"></form>
        <iframe src="${server.origin}/"></iframe><a href="${server.origin}/">go</a>`);
    });
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    // The server listens on TCP, so it has such an address.
    const { port } = other.address() as AddressInfo;
    await page.goto(`http://127.0.0.1:${port}/`);
    expect(
      await page.evaluate(`fetch('${server.origin}/', { credentials: 'include' }).then(() => 'read', () => 'refused')`),
    ).toBe('refused');
    const framed = page.frames().find((frame) => frame !== page.mainFrame());
    expect(framed?.url()).not.toBe(`${server.origin}/`);
    const [answer] = await Promise.all([page.waitForResponse(cancel), page.evaluate('document.forms[0].submit()')]);
    expect(answer.status()).toBe(403);
    expect((await repository.threads()).map(({ status }) => status)).toEqual(['suspended']);
  });

  test('refuses what no browser sends, and answers beside a thousand idle connections', async () => {
    const server = await createPageRepository().serve();
    const statusOf = async (request: Parameters<typeof answerTo>[1]): Promise<number | undefined> =>
      (await answerTo(server, request)).statusCode;
    expect(await statusOf({ path: '/', headers: { host: 'evil.example' } })).toBe(421);
    expect(await statusOf({ path: '/', headers: { origin: 'http://evil.example' } })).toBe(403);
    expect(await statusOf({ path: '/assets/../../package.json' })).not.toBe(200);
    expect(await statusOf({ path: '/assets/%2e%2e%2fcli.cjs' })).not.toBe(200);
    expect(await statusOf({ path: '//etc/passwd' })).not.toBe(200);
    const byGet = await answerTo(server, { path: `/login?secret=${server.token}&token=${server.token}` });
    expect(byGet.headers['set-cookie']).toBeUndefined();
    expect(await statusOf({ path: '/t/x/resume', method: 'POST' })).toBe(401);
    expect(await statusOf({ path: '/login', method: 'POST', bytes: 1024 ** 3 })).toBe(413);
    const idle = Array.from({ length: 1_000 }, () => connect(Number(new URL(server.origin).port), '127.0.0.1'));
    onTestFinished(() => idle.forEach((socket) => socket.destroy()));
    for (const socket of idle) socket.on('error', () => {});
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    expect(await statusOf({ path: '/login' })).toBe(200);
  });
});
