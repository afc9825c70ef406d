import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RemoteUnreachable } from '../../../src/git/remote-errors.ts';
import { writeChain } from '../../helpers/commit-chain.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import type { GitHttpServer } from '../../helpers/git-http-server.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { ref } from '../../contracts/store-fixture.ts';
import { connectFromDisk } from './http-side.ts';

const who = { user: 'me', password: 'se:cr@t' };
const userinfo = 'me:se%3Acr%40t@';

async function serve(): Promise<{ http: GitHttpServer; url: string }> {
  const server = createTemporaryRepository({ bare: true });
  server.git('config', 'http.receivepack', 'true');
  const http = await startGitHttpServer(dirname(server.dir));
  return { http, url: http.urlOf(basename(server.dir)) };
}

/** A server that answers as it is told; gives its address. */
async function answer(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void (server.closeAllConnections(), server.close()));
  // It listens on TCP, so the address is of this kind.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('who is let in', () => {
  test('by what the URL says, at once, and without showing it', async () => {
    const { http, url } = await serve();
    http.requireCredentials(who);
    const given = url.replace('http://', `http://${userinfo}`);
    const side = await connectFromDisk(given, { name: given });
    const [one] = await writeChain(side.repository, undefined, 'one');
    expect(await side.remote.push({ edits: [{ name: ref('threads/a'), value: one! }] })).toMatchObject([
      { outcome: 'done' },
    ]);
    expect(http.requests).toHaveLength(2);
    expect([side.remote.name, side.remote.url]).toEqual([url, url]);
    http.requireCredentials({ user: 'me', password: 'another' });
    const error: unknown = await side.remote.list(['refs/*']).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(RemoteUnreachable);
    expect(JSON.stringify([String(error), error])).not.toMatch(/se:cr@t|se%3Acr/);
  });

  test('by what is answered when the server asks, asked again when it was wrong', async () => {
    const { http, url } = await serve();
    http.requireCredentials(who);
    const asked: unknown[] = [];
    const side = await connectFromDisk(url, {
      onAuth: async (question) => {
        asked.push(question);
        return { username: 'me', password: question.attempt === 1 ? 'wrong' : who.password };
      },
    });
    expect(await side.remote.list(['refs/*'])).toEqual([]);
    expect(asked).toEqual([
      { url, attempt: 1 },
      { url, attempt: 2 },
    ]);
  });

  test('nobody without an answer, nor after too many wrong ones', async () => {
    const { http, url } = await serve();
    http.requireCredentials(who);
    const silent = await connectFromDisk(url);
    await expect(silent.remote.list(['refs/*'])).rejects.toThrow(/asks for a user name and a password/);
    let asked = 0;
    const wrong = await connectFromDisk(url, {
      onAuth: () => {
        asked += 1;
        return { username: 'me', password: 'wrong' };
      },
    });
    await expect(wrong.remote.list(['refs/*'])).rejects.toThrow(/did not take the user name and the password/);
    expect(asked).toBe(3);
  });
});

describe('a redirect', () => {
  test('leads the push after the list as well, and takes no password elsewhere', async () => {
    const { http, url } = await serve();
    const target = new URL(url);
    const elsewhere = await answer((request, response) => {
      expect(request.method).toBe('GET');
      response.writeHead(301, { Location: `${target.origin}${request.url}` }).end();
    });
    const seen: (string | undefined)[] = [];
    const spying = await answer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(302, { Location: `${elsewhere}${request.url}` }).end();
    });
    const side = await connectFromDisk(`${spying}${target.pathname}`.replace('http://', `http://${userinfo}`));
    const [one] = await writeChain(side.repository, undefined, 'one');
    const edits = [{ name: ref('threads/a'), value: one! }];
    expect(await side.remote.push({ edits })).toMatchObject([{ outcome: 'done' }]);
    expect(seen).toEqual([`Basic ${Buffer.from('me:se:cr@t').toString('base64')}`]);
    http.requireCredentials(who);
    await expect(side.remote.list(['refs/*'])).rejects.toThrow(/asks for a user name/);
  });

  test.each([
    ['to a file', (path: string) => `file:///etc${path}`, /no web address/],
    ['to another kind of place', () => 'http://127.0.0.1:1/login', /no repository/],
    ['to itself', (path: string) => path, /redirects for ever/],
    ['to nowhere', () => '', /no repository|no web address|redirects for ever/],
  ])('%s is not followed', async (_, location, message) => {
    const url = await answer((request, response) =>
      response.writeHead(302, { Location: location(request.url ?? '') }).end(),
    );
    const side = await connectFromDisk(`${url}/there.git`);
    await expect(side.remote.list(['refs/*'])).rejects.toThrow(message);
  });
});

describe('a server that is none', () => {
  const listType = 'application/x-git-upload-pack-advertisement';
  const id = '0123456789abcdef0123456789abcdef01234567';
  const packet = (text: string): string => (text.length + 4).toString(16).padStart(4, '0') + text;
  const banner = `${packet('# service=git-upload-pack\n')}0000`;

  test.each([
    ['a page', 'text/html', '<html>', /no server of git's/],
    ['a dumb one', 'text/plain', `${id}\trefs/heads/main\n`, /dumb kind/],
    ['nothing', listType, '', /ended in the middle/],
    ['no banner', listType, packet('hello'), /does not speak git's protocol/],
    ['what has no length', listType, 'zzzzhello', /a packet has no length/],
    ['a length that cannot be', listType, '0003', /a packet has no length/],
    ['half a packet', listType, '00ff# service', /ended in the middle/],
    ['a list without an end', listType, `${banner}${packet(`${id} refs/threads/a\0agent=x\n`)}`, /ended in the middle/],
    ['a line that is no ref', listType, `${banner}${packet('refs/threads/a\0agent=x\n')}0000`, /lists what is no ref/],
    ['an error', listType, packet('ERR the \x1b[31mdisk is on fire'), /the +\[31mdisk is on fire$/],
    ['a repository of another kind', listType, `${banner}${packet(`${id} a\0object-format=sha256\n`)}0000`, /sha256/],
  ])('saying %s is told of', async (_, type, body, message) => {
    const url = await answer((_request, response) => response.writeHead(200, { 'Content-Type': type }).end(body));
    const side = await connectFromDisk(url);
    const error: unknown = await side.remote.list(['refs/*']).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(RemoteUnreachable);
    expect((error as Error).message).toMatch(message);
  });

  test('names that are no UTF-8 look like no other name', async () => {
    const line = Buffer.concat([
      Buffer.from(`${id} refs/threads/`),
      Buffer.from([0xff, 0xc3, 0xbc]),
      Buffer.from('\0x\n'),
    ]);
    const head = (line.byteLength + 4).toString(16).padStart(4, '0');
    const body = Buffer.concat([Buffer.from(banner + head), line, Buffer.from('0000')]);
    const url = await answer((_, response) => response.writeHead(200, { 'Content-Type': listType }).end(body));
    const side = await connectFromDisk(url);
    expect((await side.remote.list(['refs/threads/*'])).map(({ name }) => name)).toEqual([
      'refs/threads/\udcff\udcc3\udcbc',
    ]);
  });

  test('that says nothing for too long is given up', async () => {
    const url = await answer(() => {});
    const side = await connectFromDisk(url, { idleTimeoutMs: 100 });
    await expect(side.remote.list(['refs/*'])).rejects.toThrow(/nothing came for/);
  });

  test('that stops in the middle of an answer is given up', async () => {
    const url = await answer((_, response) => void response.writeHead(200, { 'Content-Type': listType }).write(banner));
    const side = await connectFromDisk(url, { idleTimeoutMs: 100 });
    await expect(side.remote.list(['refs/*'])).rejects.toThrow(/nothing came for/);
  });

  test('that is not there is told of', async () => {
    const side = await connectFromDisk('http://127.0.0.1:9/there.git');
    await expect(side.remote.list(['refs/*'])).rejects.toThrow(RemoteUnreachable);
  });

  test('a fetch without contents says that it needs git', async () => {
    const side = await connectFromDisk('http://127.0.0.1:9/there.git');
    await expect(side.remote.fetch({ refs: ['refs/*'], withoutContents: true })).rejects.toThrow(/only git/);
  });
});
