import { renameSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { followThreads } from '../../../src/engine/describe/follow-threads.ts';
import { createEngineContext } from '../../../src/engine/engine-context.ts';
import { createFixture, reply, scripted, statuses, workflow } from '../../engine/engine-fixture.ts';
import { visitorOf } from '../../helpers/web-visitor.ts';

const definition = workflow('code', { coder: statuses('done') }, 'coder > end');
const config = scripted({ coder: [reply('done')] });

test('the page of a repository that is gone says so, and shows it again when it is back', async () => {
  const { repository, engine, dir } = await createFixture(config);
  const { thread } = await engine.start({ definition, prompt: 'Code it' });
  const visitor = await visitorOf(repository);
  renameSync(dir, `${dir}-moved`);
  for (const path of ['/', '/inbox', '/w', '/cost', `/t/${thread}`]) {
    const response = await visitor.get(path);
    expect([response.status, await response.text()]).toEqual([404, expect.stringContaining('is there no more')]);
  }
  renameSync(`${dir}-moved`, dir);
  expect(await (await visitor.get('/')).text()).toContain(thread);
});

test('who follows the threads of a repository that goes is told of that, and of no removed thread', async () => {
  const { repository, engine, dir } = await createFixture(config);
  const { thread } = await engine.start({ definition, prompt: 'Code it' });
  const context = createEngineContext({ repository, env: {}, config: { agents: {}, roles: {} } });
  const changes = followThreads(context, {}, new AbortController().signal);
  expect(await changes.next()).toMatchObject({ value: { thread, status: 'idle' } });
  rmSync(dir, { recursive: true });
  await expect(changes.next()).rejects.toMatchObject({ code: 'repository-not-found' });
});
