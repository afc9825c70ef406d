import { expect, test } from 'vitest';
import { createWebHandler } from '../../../src/web/routes/create-web-handler.ts';
import { serveWeb } from '../../../src/web/routes/serve-web.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

test('a page that cannot be loaded is tried again with the next request', async () => {
  let tries = 0;
  const server = await serveWeb('127.0.0.1', [0], () => {
    tries += 1;
    if (tries === 1) return Promise.reject(new Error('EMFILE: too many open files, open /home/me/secret'));
    return Promise.resolve(() => Promise.resolve(new Response('here')));
  });
  const address = `http://127.0.0.1:${server.port}/`;
  const first = await fetch(address);
  expect(first.status).toBe(503);
  expect(await first.text()).not.toContain('secret');
  expect(await (await fetch(address)).text()).toBe('here');
  expect(await (await fetch(address)).text()).toBe('here');
  expect(tries).toBe(2);
  await server.close();
});

test('an app that cannot be made is made with the next request', async () => {
  let tries = 0;
  const handler = createWebHandler(await createTemporaryRepository().open(), {
    secret: { token: 'a-token' },
    get env() {
      tries += 1;
      if (tries === 1) throw new Error('EMFILE: too many open files');
      return {};
    },
  });
  const request = (): Request => new Request('http://localhost/login', { headers: { Host: 'localhost' } });
  await expect(handler(request())).rejects.toThrow('EMFILE');
  expect((await handler(request())).status).toBe(200);
});
