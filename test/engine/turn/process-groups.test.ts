import { expect, test } from 'vitest';
import { findLeaseRecord } from '../../../src/engine/leases/find-lease.ts';
import { configOf, createFixture, reply, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

const once = workflow('once', { writer: statuses('done') }, [
  'writer',
  { from: 'writer', to: 'writer', when: "$visits('writer') < 3" },
  'writer > end',
]);

const script = `printf '%s' '${reply('done', 'A line.')}'; sleep 0.2`;
const writer = { package: 'builtin:command', config: { argv: ['sh', '-c', script], answers: true } };

/** An engine, and how many process groups its thread's lease named when each event was told. */
async function createWatched(): Promise<{ fixture: EngineFixture; groups: [event: string, count: number][] }> {
  const groups: [string, number][] = [];
  const fixture: EngineFixture = await createFixture(configOf({ writer }), {
    onEvent: ({ event, thread }) => {
      groups.push([event, findLeaseRecord(fixture.repository, thread)?.processGroups.length ?? 0]);
    },
  });
  return { fixture, groups };
}

test("a lease names the agent's process group while it works, and none while its step is stored", async () => {
  const { fixture, groups } = await createWatched();
  const { thread } = await fixture.engine.start({ definition: once, prompt: 'Write.' });
  await fixture.engine.step(thread);
  expect(groups).toContainEqual(['agent.text', 1]);
  expect(groups).toContainEqual(['step.finished', 0]);
});

test('a lease names no process group once a summary is there', async () => {
  const { fixture, groups } = await createWatched();
  const { thread } = await fixture.engine.start({ definition: once, prompt: 'Write.' });
  await fixture.engine.step(thread);
  groups.length = 0;
  await fixture.engine.compact(thread);
  expect(groups).toContainEqual(['agent.text', 1]);
  expect(groups).toContainEqual(['thread.compacted', 0]);
});
