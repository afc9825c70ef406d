import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeChain } from '../../helpers/commit-chain.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { ref } from '../../contracts/store-fixture.ts';
import { connectFromDisk } from './http-side.ts';

/** A server, and an address of it where something happens after a list of refs was given, once. */
async function serve(meanwhile: (server: ReturnType<typeof createTemporaryRepository>) => void = () => {}) {
  const server = createTemporaryRepository({ bare: true });
  server.git('config', 'http.receivepack', 'true');
  const http = await startGitHttpServer(dirname(server.dir));
  const target = http.urlOf(basename(server.dir));
  let isOver = false;
  const proxy = createServer((incoming, outgoing) => {
    const { method = 'GET', headers } = incoming;
    const onward = forward(new URL(incoming.url ?? '', target), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      // Whole, when it is over: who has the last packet of a list asks on before the answer has ended.
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        if (method === 'GET' && !isOver) {
          isOver = true;
          meanwhile(server);
        }
        outgoing.end(Buffer.concat(chunks));
      });
    });
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void (proxy.closeAllConnections(), proxy.close()));
  // It listens on TCP, so the address is of this kind.
  const url = target.replace(/:\d+/, `:${(proxy.address() as AddressInfo).port}`);
  return { server, http, direct: target, url };
}

test('a fetch of what is gone by then starts anew', async () => {
  const { direct, url, http } = await serve((server) => server.git('update-ref', '-d', 'refs/threads/gone'));
  const from = await connectFromDisk(direct);
  const [gone] = await writeChain(from.repository, undefined, 'gone');
  const [stays] = await writeChain(from.repository, undefined, 'stays');
  await from.remote.push({
    edits: [
      { name: ref('threads/gone'), value: gone! },
      { name: ref('threads/stays'), value: stays! },
    ],
  });
  http.forget();
  const to = await connectFromDisk(url);
  const incoming = await to.remote.fetch({ refs: ['refs/threads/*'] });
  expect(incoming.refs).toEqual([{ name: 'refs/threads/stays', id: stays }]);
  expect((await incoming.objects.read(stays!))?.type).toBe('commit');
  expect(http.requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET', 'POST']);
  await incoming.discard();
});

test.each([
  ['atomically', 'true', 'undone'],
  ['one by one', 'false', 'done'],
])('a push to what has moved by then says so, %s', async (_, atomic, other) => {
  const ids: string[] = [];
  const { server, direct, url } = await serve((there) => there.git('update-ref', 'refs/threads/a', ids[1] ?? ''));
  server.git('config', 'receive.advertiseAtomic', atomic);
  const side = await connectFromDisk(direct);
  const [base] = await writeChain(side.repository, undefined, 'base');
  const [mine] = await writeChain(side.repository, base, 'mine');
  const [theirs] = await writeChain(side.repository, base, 'theirs');
  await side.remote.push({
    edits: [
      { name: ref('threads/a'), value: base! },
      { name: ref('threads/theirs'), value: theirs! },
    ],
  });
  ids.push(base!, theirs!);
  const racing = await connectFromDisk(url);
  for (const commit of [['base'], ['mine', base]] as const) await writeChain(racing.repository, commit[1], commit[0]);
  const results = await racing.remote.push({
    edits: [
      { name: ref('threads/a'), value: mine! },
      { name: ref('threads/b'), value: mine! },
    ],
  });
  expect(results).toMatchObject([{ outcome: 'moved' }, { outcome: other }]);
  expect(server.git('rev-parse', 'refs/threads/a')).toBe(theirs);
});

test('refs that cannot be beside each other are refused, each of them', async () => {
  const { direct } = await serve();
  const side = await connectFromDisk(direct);
  const [one] = await writeChain(side.repository, undefined, 'one');
  const results = await side.remote.push({
    edits: [
      { name: ref('threads/a'), value: one! },
      { name: ref('threads/a/b'), value: one! },
    ],
  });
  expect(results.map(({ outcome }) => outcome)).toEqual(['refused', 'refused']);
});

test('a server that cannot store what was sent is told of for every edit', async () => {
  const { server, direct } = await serve();
  writeFileSync(join(server.dir, 'config'), '[receive]\n\tmaxInputSize = 10\n', { flag: 'a' });
  const side = await connectFromDisk(direct);
  const [one] = await writeChain(side.repository, undefined, 'one');
  const results = await side.remote.push({ edits: [{ name: ref('threads/a'), value: one! }] });
  expect(results).toMatchObject([{ outcome: 'refused', reason: expect.stringMatching(/\S/) as string }]);
});
