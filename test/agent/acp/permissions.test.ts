import { describe, expect, test } from 'vitest';

import { refusalsOf, runScripted } from './acp-fixture.ts';

const runAllowed = { permissions: { rules: [{ kinds: ['execute'], answer: 'allow' }] } };

describe('a question for permission', () => {
  test('that the policy allows is answered with yes, once', async () => {
    const { text, events } = await runScripted(['permission'], { config: runAllowed });
    expect(text).toBe('permission: {"outcome":"selected","optionId":"yes"}\n');
    expect(refusalsOf(events)).toEqual([]);
  });

  test('that the policy denies is answered with no, and the step says so', async () => {
    const { text, events } = await runScripted(['permission'], { config: { permissions: 'deny' } });
    expect(text).toBe('permission: {"outcome":"selected","optionId":"no"}\n');
    expect(refusalsOf(events)).toEqual(['denied by the configured permissions: run npm publish (execute)']);
  });

  test.each([
    ['y', 'yes'],
    ['yes', 'yes'],
    [' A ', 'always'],
    ['n', 'no'],
    ['', 'no'],
    ['perhaps', 'no'],
  ])('that the person at the terminal answers with %j is answered with %s', async (word, optionId) => {
    const questions: string[] = [];
    const askPerson = (question: string): Promise<string> => {
      questions.push(question);
      return Promise.resolve(word);
    };
    const { text } = await runScripted(['permission'], { askPerson });
    expect(text).toBe(`permission: {"outcome":"selected","optionId":"${optionId}"}\n`);
    expect(questions).toEqual([expect.stringContaining('worker wants to: run npm publish (execute)')]);
  });

  test('that a person denies suspends an agent that says nothing after it, and no other', async () => {
    const askPerson = (): Promise<string> => Promise.resolve('n');
    const silent = await runScripted(['silentPermission'], { askPerson });
    expect(silent.reply).toMatchObject({
      kind: 'suspend',
      cause: 'agent',
      session: 'session-1',
      reason:
        'worker stopped without a reply after a person denied this: run npm publish (execute); how is it to go on?',
    });
    const speaking = await runScripted(['silentPermission', 'reply'], { askPerson });
    expect(speaking.reply).toHaveProperty('kind', 'reply');
    const replied = await runScripted(['reply', 'silentPermission'], { askPerson });
    expect(replied.reply).toHaveProperty('kind', 'reply');
    const byPolicy = await runScripted(['silentPermission'], { config: { permissions: 'deny' } });
    expect(byPolicy.reply).toHaveProperty('kind', 'reply');
  });

  test('that nobody is there to answer suspends for a person, naming the tool and what would allow it', async () => {
    const { reply, events } = await runScripted(['permission', 'reply']);
    expect(reply).toMatchObject({
      kind: 'suspend',
      cause: 'permission',
      session: 'session-1',
      reason: expect.stringMatching(/npm publish.*resuming it at a terminal.*kinds: \[execute\], answer: allow/u),
    });
    expect(refusalsOf(events)).toEqual(['no person was there to permit it: run npm publish (execute)']);
  });

  test('that nobody is there to answer suspends also when the agent does not heed that', async () => {
    const { reply } = await runScripted(['permissionOutside', 'hang'], {
      config: { permissions: { rules: [{ kinds: ['edit'], paths: ['/**'], answer: 'ask' }] }, graceMs: 100 },
    });
    expect(reply).toMatchObject({ kind: 'suspend', cause: 'permission' });
  });

  test('that nobody is there to answer suspends also when the agent fails as it is told to stop', async () => {
    const { reply } = await runScripted(['permission', 'error']);
    expect(reply).toMatchObject({ kind: 'suspend', cause: 'permission', session: 'session-1' });
  });

  test('to edit what lies outside the working folder is denied, whatever is allowed in general', async () => {
    const { text, events } = await runScripted(['permissionOutside'], { config: { permissions: 'allow' } });
    expect(text).toBe('permission: {"outcome":"selected","optionId":"no"}\n');
    expect(refusalsOf(events)).toEqual([expect.stringContaining('outside.txt')]);
  });
});
