import { expect, test } from 'vitest';
import { describeThread } from '../../../src/engine/describe/describe.ts';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { readSpans } from '../../../src/web/parts/thread-timeline.tsx';
import { createFixture, reply, scripted, statuses, workflow } from '../../engine/engine-fixture.ts';

test('of very many children the newest are shown, and how many are left out is known', async () => {
  const { repository, engine } = await createFixture(scripted({ worker: [reply('done')] }));
  const definition = workflow('child', { worker: statuses('done') }, 'worker > end');
  const { thread } = await engine.start({ definition, prompt: 'Work' });
  await engine.run(thread);
  const context = readingContext(repository);
  const view = await describeThread(context, thread);
  const call = { thread, status: 'ended', end: null, role: 'worker', key: 'k', step: null, isLeft: false } as const;
  const many = { ...view, calls: Array.from({ length: 130 }, () => ({ ...call, parentState: view.workflowHash })) };
  const found = await readSpans(context, many, { limit: 10, from: view.head, nowMs: Date.now() });
  expect(found.spans.filter(({ kind }) => kind === 'child')).toHaveLength(100);
  expect(found.othersOfChildren).toBe(30);
});
