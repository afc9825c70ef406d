import { expect, test } from 'vitest';
import { reply, scripted, statuses, createFixture, workflow } from '../engine-fixture.ts';
import { createEngine } from '../../../src/engine/engine.ts';

const KEY = 'zq8Vw3kTn5Rb7Yx2Lm4P';

test('a person is asked without the secrets of this machine that were stored elsewhere, and the answer is given back', async () => {
  const roles = { judge: statuses('granted', 'refused') };
  const rules = [
    { from: '__start__', to: 'judge', when: null, prompt: `May ${KEY} go out?` },
    { from: 'judge', to: '__end__', when: null },
  ];
  const { repository, dir, engine } = await createFixture(scripted({ judge: [reply('granted')] }));
  const { thread } = await engine.start({ definition: workflow('gate', roles, rules), prompt: `The key is ${KEY}.` });
  const asked: string[] = [];
  const agents = { me: { name: 'me', package: 'builtin:human', config: {} } };
  const own = createEngine({
    repository,
    config: { agents, defaultAgent: 'me', roles: {} },
    cwd: dir,
    env: { SERVICE_API_KEY: KEY },
    askPerson: (question) => Promise.resolve(asked.push(question) > 0 ? 'granted' : ''),
  });
  expect(await own.run(thread)).toMatchObject({ event: 'thread.suspended', cause: 'human' });
  expect(await own.putQuestion(thread)).toMatchObject({ kind: 'answered', thread, answer: 'granted' });
  expect(asked).toEqual([expect.stringMatching(/The key is [^]*May .* go out\? \[granted\/refused\] $/u)]);
  expect(asked.join()).not.toContain(KEY);
  expect(await own.putQuestion(thread, new Set([(await own.describe(thread)).thread]))).toBeUndefined();
});
