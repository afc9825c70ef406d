import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import type { AgentReply } from '../../../src/agent/contract.ts';
import { createAgent } from '../../../src/agent/human/human-agent.ts';
import type { JsonObject } from '../../../src/json.ts';
import { agentRequest, temporaryFolder } from '../../helpers/agent-request.ts';
import type { ObservedRequest } from '../../helpers/agent-request.ts';

const review: JsonObject = {
  properties: {
    $status: { enum: ['approved', 'rejected'] },
    comments: { type: 'string', description: 'what to change' },
  },
  required: ['$status'],
};
const confirmation: JsonObject = { properties: { $status: { const: 'done' } }, required: ['$status'] };
const form: JsonObject = { properties: { name: { type: 'string' } }, required: ['name'] };

const nobody = (): Promise<string> => Promise.reject(new Error('nobody is to be asked'));

/** A person at a terminal whose editor is a shell script; `$1` in it is the file. */
function atTerminal(script: string, changes: Partial<ObservedRequest> = {}): ObservedRequest {
  const editor = join(temporaryFolder(), 'editor.sh');
  writeFileSync(editor, script);
  return agentRequest({
    outputSchema: review,
    askPerson: nobody,
    env: { PATH: process.env['PATH'] ?? '', EDITOR: `sh ${editor}` },
    ...changes,
  });
}

function ask(request: ObservedRequest): Promise<AgentReply> {
  return createAgent({}).run(request);
}

describe('without a terminal', () => {
  test('the turn is suspended, and says what may be answered and not to which thread', async () => {
    const request = agentRequest({ role: 'reviewer', outputSchema: review });
    const reply = await ask(request);
    expect(reply).toMatchObject({ kind: 'suspend', cause: 'human', text: expect.stringContaining(request.prompt) });
    // A fork of the thread has the same words, and another id.
    expect(reply).toHaveProperty('reason', expect.not.stringContaining(request.threadId));
    expect(reply).toHaveProperty('reason', expect.stringContaining("'approved' or 'rejected'"));
  });

  test('an answer that was not accepted suspends again instead of being given once more', async () => {
    const reply = await ask(agentRequest({ outputSchema: form, answer: 'what?', attempt: 1 }));
    expect(reply).toMatchObject({ kind: 'suspend', reason: expect.stringContaining('not accepted') });
  });
});

describe('an answer to a suspension', () => {
  test.each<[string, JsonObject, string, object]>([
    ['with front matter is the reply', form, '---\nname: x\n---\nText', { text: '---\nname: x\n---\nText' }],
    [
      'is the text where only constants are required',
      confirmation,
      'It is.',
      { text: 'It is.', meta: { $status: 'done' } },
    ],
    ['is the text where nothing is required', { type: 'object' }, 'Anything.', { text: 'Anything.', meta: {} }],
    ['may be one of the statuses', review, 'approved', { text: '', meta: { $status: 'approved' } }],
    [
      'may begin with one of the statuses',
      review,
      ' rejected \n\nToo long.\nMuch.\n',
      { text: 'Too long.\nMuch.\n', meta: { $status: 'rejected' } },
    ],
    ['is never taken for a status that it does not name', review, 'approved, I think', { text: 'approved, I think' }],
    ['is never completed by a field that nobody gave', form, 'x', { text: 'x' }],
  ])('%s', async (_, outputSchema, answer, reply) => {
    expect(await ask(agentRequest({ outputSchema, answer }))).toEqual({ kind: 'reply', ...reply });
  });
});

describe('at a terminal with an editor', () => {
  test('the file shows what to fill in and what it is about', async () => {
    const copy = join(temporaryFolder(), 'copy');
    const request = atTerminal(`cp "$1" ${copy}`);
    await ask(request);
    expect(readFileSync(copy, 'utf8')).toBe(`---
$status: # required: approved or rejected
# comments: # optional: text: what to change
---


------------------------ >8 ------------------------
Everything from the line above on is left out. Write your reply before it; an empty reply, or one that
was not changed, suspends the thread until 'uwf thread resume'.

You are 'worker' of thread ${request.threadId}.

Do the work.
`);
  });

  test('what was written before the line is the reply', async () => {
    const request = atTerminal(`sed -i -e 's/^\\$status:.*/$status: rejected/' -e '5s/.*/Too long./' "$1"`);
    expect(await ask(request)).toEqual({
      kind: 'reply',
      text: '---\n$status: rejected\n# comments: # optional: text: what to change\n---\nToo long.\n',
    });
  });

  test.each([
    ['was not changed', 'true'],
    ['was emptied', ': > "$1"'],
    ['was given up', 'echo approved > "$1"; exit 1'],
  ])('a file that %s suspends', async (_, script) => {
    expect(await ask(atTerminal(script))).toMatchObject({ kind: 'suspend', cause: 'human' });
  });

  test('a reply that was not accepted is there again to be corrected', async () => {
    const copy = join(temporaryFolder(), 'copy');
    const request = atTerminal(`cp "$1" ${copy}; printf 'aproved\\n' > "$1"`);
    await ask(request);
    const again = atTerminal(`cp "$1" ${copy}; printf 'approved\\n' > "$1"`, {
      stepDir: request.stepDir,
      attempt: 1,
      prompt: 'meta.$status must be one of: approved, rejected',
    });
    expect(await ask(again)).toEqual({ kind: 'reply', text: '', meta: { $status: 'approved' } });
    expect(readFileSync(copy, 'utf8')).toMatch(/^aproved\n[^]*must be one of/u);
  });

  test('an editor that is not there suspends, and is named', async () => {
    const request = atTerminal('', {
      env: { VISUAL: 'no-such-editor --wait 2> /dev/null', PATH: process.env['PATH'] ?? '' },
    });
    expect(await ask(request)).toHaveProperty(
      'reason',
      expect.stringContaining("'no-such-editor --wait 2> /dev/null' failed"),
    );
  });

  test('an abort closes the editor and rejects with its reason', async () => {
    const request = atTerminal('exec sleep 60', { signal: AbortSignal.timeout(50) });
    await expect(ask(request)).rejects.toHaveProperty('name', 'TimeoutError');
  });

  test('the configured editor goes before the environment', async () => {
    const request = atTerminal('exit 1');
    const agent = createAgent({ editor: 'printf "approved\\n" >' });
    expect(await agent.run(request)).toMatchObject({ meta: { $status: 'approved' } });
  });
});

describe('at a terminal without an editor', () => {
  test('the person is asked there', async () => {
    const questions: string[] = [];
    const request = agentRequest({
      outputSchema: review,
      askPerson: (question) => {
        questions.push(question);
        return Promise.resolve('approved\nFine.');
      },
    });
    expect(await ask(request)).toEqual({ kind: 'reply', text: 'Fine.', meta: { $status: 'approved' } });
    expect(questions).toEqual([request.prompt]);
  });

  test('saying nothing suspends', async () => {
    expect(await ask(agentRequest({ askPerson: () => Promise.resolve(' \n') }))).toHaveProperty('kind', 'suspend');
  });

  test('an abort does not wait for the answer', async () => {
    const request = agentRequest({ askPerson: () => new Promise(() => {}), signal: AbortSignal.timeout(10) });
    await expect(ask(request)).rejects.toHaveProperty('name', 'TimeoutError');
  });
});
