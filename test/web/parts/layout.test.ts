import { expect, test } from 'vitest';
import { createMemoryRepository } from '../../helpers/memory-repository.ts';
import { visitorOf } from '../../helpers/web-visitor.ts';

test.each([
  ['/', 'Threads'],
  ['/inbox', 'Inbox'],
  ['/w', 'Workflows'],
  ['/cost', 'Cost'],
  ['/start', 'Start'],
])('the navigation says that %s is the page %s', async (path, name) => {
  const visitor = await visitorOf((await createMemoryRepository(Date.now)).repository);
  const page = await visitor.page(path);
  expect([...page.matchAll(/aria-current="page">\s*([^<]*?)\s*</g)].map(([, current]) => current)).toEqual([name]);
});
