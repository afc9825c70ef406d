import { expect, test } from 'vitest';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { removeThread } from '../../../src/thread/remove-thread.ts';
import { withChildren } from '../../../src/web/export/export-folder.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { createFixture, reply, scripted, statuses, workflow } from '../../engine/engine-fixture.ts';

const once = (name: string, role: string): WorkflowDefinition =>
  workflow(name, { [role]: statuses('done') }, [
    { from: '__start__', to: role, when: null },
    { from: role, to: '__end__', when: null },
  ]);

test('the ids of callers are left out although the callers were removed', async () => {
  const config = scripted({ worker: [reply('done')] });
  for (const name of ['middle', 'inner']) {
    config.agents[name] = { name, package: 'builtin:workflow', config: { workflow: name } };
  }
  config.roles = { top: 'middle', between: 'inner' };
  const definitions: Record<string, WorkflowDefinition> = {
    middle: once('middle', 'between'),
    inner: once('inner', 'worker'),
  };
  const resolveWorkflow = (name: string): Promise<WorkflowDefinition> =>
    Promise.resolve(definitions[name] ?? once('none', 'worker'));
  const { repository, engine } = await createFixture(config, { resolveWorkflow });
  const { thread: top } = await engine.start({ definition: once('outer', 'top'), prompt: 'Do it' });
  await engine.run(top);
  const [middle = ''] = (await engine.describe(top)).children;
  const [inner = ''] = (await engine.describe(middle)).children;
  const pointer = await getThread(repository, inner);
  for (const thread of [top, middle]) await removeThread(repository, await getThread(repository, thread));
  const context = readingContext(repository);
  const { threads, others } = await withChildren(context, [pointer]);
  expect([...threads.keys()]).toEqual([inner]);
  expect([...others]).toEqual(expect.arrayContaining([top, middle]));
});
