import { expect, test } from 'vitest';
import { createMemoryRepository } from '../../helpers/memory-repository.ts';
import { host, visitorOf } from '../../helpers/web-visitor.ts';

test('a request that wants no body opens no stream', async () => {
  const visitor = await visitorOf((await createMemoryRepository()).repository);
  for (let times = 0; times < 100; times += 1) {
    const headers = { host, cookie: visitor.cookie };
    const asked = new Request(`http://${host}/live?state=threads@`, { method: 'HEAD', headers });
    expect((await visitor.handler(asked)).status).toBe(200);
  }
  const response = await visitor.get('/live?state=threads@');
  expect(response.status).toBe(200);
  await response.body?.cancel();
});
