import { describe, expect, test } from 'vitest';
import { createMemoryRepository } from '../../helpers/memory-repository.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { host, notingActions, stranger, visitorOf } from '../../helpers/web-visitor.ts';

const HOUR_MS = 3_600_000;

async function emptyRepository(): Promise<Repository> {
  return (await createMemoryRepository()).repository;
}

describe('a visitor who is not logged in', () => {
  test.each(['/', '/inbox', '/t/01KAM40000000000000000000', '/?text=x'])(
    'is sent from %s to the login',
    async (path) => {
      const visitor = stranger(await emptyRepository());
      const response = await visitor.get(path);
      expect(response.status).toBe(303);
      expect(response.headers.get('location')).toBe(`/login?${new URLSearchParams({ to: path }).toString()}`);
    },
  );

  test('can neither follow nor write', async () => {
    const visitor = stranger(await emptyRepository());
    expect((await visitor.get('/live?state=threads@x')).status).toBe(401);
    expect((await visitor.post('/t/01KAM4/resume', {})).status).toBe(401);
  });

  test('is not logged in by a token in an address', async () => {
    const visitor = stranger(await emptyRepository());
    const response = await visitor.get('/login?secret=the-token-of-the-printed-address');
    expect(response.headers.get('set-cookie')).toBeNull();
    expect(await response.text()).not.toContain('the-token');
  });

  test('is refused with a wrong token, which is not shown again', async () => {
    const visitor = stranger(await emptyRepository());
    const response = await visitor.post('/login', { secret: 'wrong"><script>', to: '/' });
    expect(response.status).toBe(403);
    expect(response.headers.get('set-cookie')).toBeNull();
    expect(await response.text()).not.toContain('wrong');
  });

  test.each([
    ['/t/01KAM4?before=3', '/t/01KAM4?before=3'],
    ['//evil.example/x', '/'],
    ['https://evil.example/', '/'],
    ['/\\evil.example', '/'],
    ['/.//evil.example', '/'],
    ['http://localhost//evil.example', '/'],
    ['/t/..//evil.example/x', '/'],
    ['javascript:alert(1)', '/'],
  ])('goes to a page of this server only: %s', async (to, location) => {
    const visitor = stranger(await emptyRepository());
    const response = await visitor.post('/login', { secret: 'the-token-of-the-printed-address', to });
    expect(response.headers.get('location')).toBe(location);
  });

  test('is known once by a token that others may see', async () => {
    const visitor = stranger(await emptyRepository(), { secret: { token: 'kept', once: 'seen' } });
    const login = async (secret: string): Promise<number> => (await visitor.post('/login', { secret })).status;
    expect([await login('seen'), await login('seen'), await login('kept'), await login('kept')]).toEqual([
      303, 403, 303, 303,
    ]);
  });

  test('is known by the password where there is one', async () => {
    const visitor = stranger(await emptyRepository(), { secret: { password: 'a word' } });
    expect((await visitor.post('/login', { secret: 'another', to: '/' })).status).toBe(403);
    expect((await visitor.post('/login', { secret: 'a word', to: '/' })).status).toBe(303);
  });
});

describe('a session', () => {
  test('is a cookie that scripts and other sites do not get', async () => {
    const visitor = stranger(await emptyRepository(), { cookie: 'uwf-1-7400' });
    const response = await visitor.post('/login', { secret: 'the-token-of-the-printed-address', to: '/' });
    expect(response.headers.get('set-cookie')).toMatch(
      /^uwf-1-7400=[0-9a-f.]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/,
    );
  });

  test('outlives the server, and not its key', async () => {
    const repository = await emptyRepository();
    const key = new Uint8Array(32).fill(7);
    const before = await visitorOf(repository, { key });
    for (const [again, status] of [
      [stranger(repository, { key }), 200],
      [stranger(repository, { key: new Uint8Array(32) }), 303],
    ] as const) {
      again.cookie = before.cookie;
      expect((await again.get('/')).status).toBe(status);
    }
  });

  test('ends after thirty days, and cannot be made longer', async () => {
    let nowMs = 1_795_262_400_000;
    const repository = { ...(await emptyRepository()), now: () => nowMs };
    const visitor = await visitorOf(repository);
    const [, id = '', ends = '', seal = ''] = /=([^.]+)\.(\d+)\.(.+)$/.exec(visitor.cookie) ?? [];
    nowMs += 30 * 24 * HOUR_MS - 1;
    expect((await visitor.get('/')).status).toBe(200);
    nowMs += 2;
    expect((await visitor.get('/')).status).toBe(303);
    visitor.cookie = `uwf=${id}.${Number(ends) + HOUR_MS}.${seal}`;
    expect((await visitor.get('/')).status).toBe(303);
  });
});

describe('a request that another site makes a browser send', () => {
  test.each([
    ['a host that was rebound', { host: 'evil.example:7400' }, 421],
    ['a host that ends like ours', { host: 'localhost.evil.example' }, 421],
    ['an empty host', { host: '' }, 421],
    ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another port of this machine', { 'sec-fetch-site': 'same-site' }, 403],
    ['a foreign origin', { origin: 'http://evil.example' }, 403],
    ['the origin of another port', { origin: 'http://127.0.0.1:3000' }, 403],
    ['no origin, as a sandboxed frame has', { origin: 'null' }, 403],
  ])('is refused by %s, reads too', async (_, headers, status) => {
    const visitor = await visitorOf(await emptyRepository());
    expect((await visitor.get('/', headers)).status).toBe(status);
    expect((await visitor.post('/login', { secret: 'x' }, headers)).status).toBe(status);
  });

  test.each([
    ['/t/01KAM4?view=graph', '/t/01KAM4?view=graph'],
    ['//evil.example/x', '/'],
  ])('leads to a page of this server only: %s', async (path, address) => {
    const visitor = stranger(await emptyRepository());
    const response = await visitor.get(path, { 'sec-fetch-site': 'cross-site' });
    expect(await response.text()).toContain(`<a href="${address}">`);
  });

  test.each(['localhost:8080', '127.0.0.1:1', '[::1]:7400', 'LOCALHOST'])('is not: our page at %s', async (name) => {
    const visitor = await visitorOf(await emptyRepository());
    expect((await visitor.get('/', { host: name })).status).toBe(200);
    expect((await visitor.get('/', { host: name, origin: `http://${name.toLowerCase()}` })).status).toBe(200);
  });

  test.each([
    ['192.168.1.5:7400', 200],
    ['[fe80::1]:7400', 200],
    ['workstation:7400', 200],
    ['evil.example:7400', 421],
    ['1.2.3.4.evil.example', 421],
  ])('is not refused at an address or name of a server that others reach: %s', async (name, status) => {
    const visitor = await visitorOf(await emptyRepository(), { hosts: ['workstation'] });
    expect((await visitor.get('/', { host: name })).status).toBe(status);
  });

  test('is refused where a write has no form token of its session', async () => {
    const repository = await emptyRepository();
    const resumed: unknown[][] = [];
    const visitor = await visitorOf(repository, { actions: notingActions(resumed) });
    for (const form of [{}, { form: 'x' }, { form: 'a'.repeat(64) }]) {
      expect((await visitor.post('/t/01KAM4/resume', form)).status).toBe(403);
    }
    expect(resumed).toEqual([]);
  });

  test('writes nothing where the page only shows', async () => {
    const visitor = await visitorOf(await emptyRepository());
    const response = await visitor.post('/t/01KAM4/resume', { form: 'x' });
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('uwf web --write');
  });
});

describe('every answer', () => {
  test.each(['/', '/login', '/nothing', '/assets/page.css', '/t/none'])(
    '%s may run nothing but our own files',
    async (path) => {
      const visitor = await visitorOf(await emptyRepository());
      const { headers } = await visitor.get(path);
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'",
      );
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    },
  );

  test.each(['/assets/../package.json', '/assets/%2e%2e/%2e%2e/package.json', '/assets/..%2fcli.cjs', '/assets/'])(
    'serves no other file: %s',
    async (path) => {
      const visitor = await visitorOf(await emptyRepository());
      expect((await visitor.get(path)).status).toBe(404);
    },
  );

  test('a form that is too large is refused, and one of a stranger is not read', async () => {
    const visitor = await visitorOf(await emptyRepository());
    const answer = 'x'.repeat(5 * 1024 * 1024);
    expect((await visitor.post('/t/01KAM4/resume', { answer })).status).toBe(413);
    visitor.cookie = '';
    expect((await visitor.post('/t/01KAM4/resume', { answer })).status).toBe(401);
    expect((await visitor.post('/login', { secret: answer })).status).toBe(413);
  });

  test.each(['/nothing', '/t/01KAM40000000000000000000'])(
    '%s, which is not there, leads to the threads',
    async (path) => {
      const visitor = await visitorOf(await emptyRepository());
      const response = await visitor.get(path);
      expect(response.status).toBe(404);
      expect(await response.text()).toContain('<a href="/">All threads</a>');
    },
  );

  test(`says what it does not serve at ${host}`, async () => {
    const visitor = await visitorOf(await emptyRepository());
    const response = await visitor.get('/t/01KAM40000000000000000000');
    expect(response.status).toBe(404);
    expect(await response.text()).toContain('uwf thread list');
  });
});
