import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { isGroupAlive } from '../../../../src/agent/processes/process-group.ts';
import { agentRequest } from '../../../helpers/agent-request.ts';
import { groupsOf, refusalsOf, runScripted, scriptedAgent } from '../acp-fixture.ts';

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

describe('files', () => {
  test('are read and written in the working folder, and nowhere else', async () => {
    const request = agentRequest();
    const { cwd } = request;
    const outside = dirname(cwd);
    writeFileSync(join(outside, 'secret'), 'secret words');
    mkdirSync(join(cwd, 'made'));
    symlinkSync(outside, join(cwd, 'link-out'));
    symlinkSync(join(outside, 'outside.txt'), join(cwd, 'dangling.txt'));
    symlinkSync(join(outside, 'secret'), join(cwd, 'link-to-secret'));
    const reply = await scriptedAgent(['files'], { permissions: 'allow' }).run(request);
    const text = reply.text ?? '';
    expect(readFileSync(join(cwd, 'made/new/file.txt'), 'utf8')).toBe('written\n');
    expect(text).toContain('read inside: ok {"content":"written\\n"}');
    expect(text.match(/: error [^\n]*is outside the working folder/gu)).toHaveLength(6);
    expect(text).not.toContain('secret words');
    expect(existsSync(join(outside, 'outside.txt'))).toBe(false);
    const refusals = refusalsOf(request.events);
    expect(refusals).toHaveLength(6);
    expect(refusals.join('\n')).toContain(join(cwd, 'link-out/outside.txt'));
  });

  test('are not written where the policy denies it', async () => {
    const config = { permissions: { rules: [{ kinds: ['edit'], paths: ['made/**'], answer: 'deny' }] } };
    const { text, request } = await runScripted(['files'], { config });
    expect(text).toContain('write inside: error');
    expect(existsSync(join(request.cwd, 'made/new'))).toBe(false);
  });
});

describe('terminals', () => {
  const env = { PATH: process.env['PATH'] ?? '', GITHUB_TOKEN: 'ghp_x', HOME: '/home' };

  test('run in the working folder, without keys, once the agent may', async () => {
    const { text, events, request } = await runScripted(['terminal', 'reply'], { config: runAllowed, env });
    const shown = events.find((event) => event.kind === 'tool-result');
    expect(shown).toMatchObject({ result: expect.stringContaining('\n42\n') });
    expect(shown).toMatchObject({ result: expect.stringContaining(`\n${request.cwd}\n`) });
    expect(shown).toMatchObject({ result: expect.stringContaining('GIVEN=by-agent') });
    expect(shown).toMatchObject({ result: expect.not.stringContaining('ghp_x') });
    expect(text).toContain('"exitCode":0');
    expect(text).toMatch(/terminal outside: error .*outside the working folder/u);
    expect(refusalsOf(events)).toHaveLength(1);
  });

  test('are asked for where the agent did not ask', async () => {
    const questions: string[] = [];
    const askPerson = (question: string): Promise<string> => Promise.resolve(questions.push(question) ? 'n' : '');
    const { reply, events } = await runScripted(['openTerminal'], { askPerson });
    expect(questions).toEqual([expect.stringContaining('run sleep 60 (execute)')]);
    expect(reply).toHaveProperty('kind', 'failed-attempt');
    expect(refusalsOf(events)).toEqual(['denied by the person asked: run sleep 60 (execute)']);
  });

  test('that were left open end with the turn', async () => {
    const { reply, events } = await runScripted(['openTerminal', 'reply'], { config: runAllowed });
    expect(reply).toHaveProperty('kind', 'reply');
    const [agent, terminal] = groupsOf(events);
    expect([agent, terminal].map((pgid) => isGroupAlive(pgid ?? 0))).toEqual([true, false]);
  });
});
