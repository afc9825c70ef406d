import { expect, test } from 'vitest';
import { readingContext } from '../../../src/engine/engine-context.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { WaitingThreads } from '../../../src/web/live/live.ts';
import { configOf, createFixture, statuses, workflow } from '../../engine/engine-fixture.ts';

const definition = workflow('ask', { asker: statuses('told') }, 'asker > end');

type Many = {
  engine: Engine;
  repository: Repository;
  waiting: WaitingThreads;
  read: Set<string>;
  start(): Promise<string>;
};

/** Some threads that wait, and those who know it; `read` are the objects that were read since. */
async function many(): Promise<Many> {
  const { engine, repository } = await createFixture(configOf({ asker: { package: 'builtin:human', config: {} } }));
  const start = async (): Promise<string> => {
    const { thread } = await engine.start({ definition, prompt: 'Ask' });
    await engine.run(thread);
    return thread;
  };
  for (let count = 0; count < 5; count += 1) await start();
  const read = new Set<string>();
  const objects = new Proxy(repository.objects, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => {
        for (const id of given.flat()) if (typeof id === 'string') read.add(id);
        return member.apply(target, given);
      };
    },
  });
  const watched = { ...repository, objects };
  const context = readingContext(watched);
  return { engine, repository, waiting: new WaitingThreads(context), read, start };
}

async function readNow(waiting: WaitingThreads): Promise<string[]> {
  for (;;) {
    const { threads, isRead } = await waiting.now();
    if (isRead) return threads.map(({ thread }) => thread);
  }
}

test('after the first look only threads that have changed are looked at', async () => {
  const { engine, waiting, read, start } = await many();
  const first = await readNow(waiting);
  expect(first).toHaveLength(5);
  read.clear();
  const sixth = await start();
  expect(await readNow(waiting)).toEqual([sixth, ...first]);
  const heads = new Map((await engine.list()).map(({ thread, head }) => [thread as string, head]));
  const looked = [...heads].filter(([, head]) => head !== null && read.has(head)).map(([thread]) => thread);
  expect(looked).toEqual([sixth]);
});

test('a thread that is answered, and one that is removed, wait no longer', async () => {
  const { engine, repository, waiting } = await many();
  const [answered = '', removed = '', ...others] = await readNow(waiting);
  await engine.resume(answered, { answer: '---\n$status: told\n---\n' });
  const { head } = await engine.describe(removed);
  await repository.refs.update([{ name: `refs/threads/${removed}` as never, expected: head, value: null }]);
  expect(await readNow(waiting)).toEqual(others);
  expect(await waiting.state()).toMatch(/^3\./);
});

test('those who were told of an earlier state learn that threads were read', async () => {
  const { waiting, start } = await many();
  await readNow(waiting);
  let told = 0;
  waiting.onRead = () => (told += 1);
  await start();
  await readNow(waiting);
  expect(told).toBeGreaterThan(0);
});

test('a thread that is removed while questions are counted leaves the state unknown', async () => {
  const { engine, repository, waiting } = await many();
  await readNow(waiting);
  const { threads, isRead } = await waiting.now();
  waiting.now = () => Promise.resolve({ threads: threads.map((one) => ({ ...one, cause: 'child' })), isRead });
  const [{ thread, head } = expect.fail('threads wait')] = threads;
  expect(await waiting.state()).toMatch(/^5\./);
  await repository.refs.update([{ name: `refs/threads/${thread}` as never, expected: head, value: null }]);
  await expect(engine.describe(thread)).rejects.toThrow('there is no thread');
  expect(await waiting.state()).toBe('');
});
