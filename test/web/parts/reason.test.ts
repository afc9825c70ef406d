import { expect, test } from 'vitest';
import { createFixture, reply, scripted, statuses, workflow } from '../../engine/engine-fixture.ts';
import { visitorOf } from '../../helpers/web-visitor.ts';

test('a thread that ended with a long reply has it in its story only', async () => {
  const { engine, repository } = await createFixture(scripted({ writer: [reply('done', 'word '.repeat(50_000))] }));
  const definition = workflow('w', { writer: statuses('done') }, 'writer > end');
  const { thread } = await engine.start({ definition, prompt: 'Write' });
  await engine.run(thread);
  const visitor = await visitorOf(repository);
  for (const path of ['/', `/t/${thread}`]) {
    const [, reason = ''] = /<p class="reason">([^<]*)</.exec(await visitor.page(path)) ?? [];
    expect(reason.length).toBeGreaterThan(20);
    expect(reason.length).toBeLessThan(700);
  }
});
