import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import type { AgentReply } from '../../../src/agent/contract.ts';
import { createAgent } from '../../../src/agent/human/human-agent.ts';
import type { JsonObject } from '../../../src/json.ts';
import { agentRequest, type ObservedRequest, temporaryFolder } from '../../helpers/agent-request.ts';

const review: JsonObject = {
  properties: {
    $status: { enum: ['approved', 'rejected'] },
    comments: { type: 'string', description: 'what to change' },
  },
  required: ['$status'],
};
const confirmation: JsonObject = { properties: { $status: { const: 'done' } }, required: ['$status'] };
const form: JsonObject = { properties: { name: { type: 'string' } }, required: ['name'] };

const safety: JsonObject = { properties: { isSafe: { type: 'boolean' } }, required: ['isSafe'] };
const release: JsonObject = {
  $defs: { severity: { enum: ['low', 'high'], description: 'how bad it is' } },
  properties: {
    $status: { enum: ['ready', 'broken', 'postponed'] },
    version: { type: 'string', pattern: String.raw`^v\d+$`, description: 'what it is called' },
    files: { type: 'array', items: { type: 'string' } },
    count: { type: 'integer', minimum: 1 },
    severity: { $ref: '#/$defs/severity' },
  },
  required: ['$status'],
  oneOf: [
    { properties: { $status: { const: 'ready' } }, required: ['version', 'files', 'count'] },
    { properties: { $status: { const: 'broken' } }, required: ['severity'] },
    { properties: { $status: { const: 'postponed' } } },
  ],
};
const conditional: JsonObject = {
  properties: { $status: { enum: ['ready', 'broken'] }, why: { type: 'string' } },
  required: ['$status'],
  if: { properties: { $status: { const: 'ready' } } },
  else: { required: ['why'] },
};

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
    // A fork of the thread has the same words, and another id.
    const reason = 'Is it good? [approved/rejected]';
    expect(await ask(agentRequest({ outputSchema: review, edgePrompt: 'Is it good?' }))).toEqual({
      kind: 'suspend',
      cause: 'human',
      reason,
    });
  });

  test('a long question, and a form to fill in, stand in the thread and not in the reason', async () => {
    const edgePrompt = `Is it good?\n\n${'It is long. '.repeat(20)}`;
    const reply = await ask(agentRequest({ role: 'namer', outputSchema: form, edgePrompt }));
    expect(reply).toMatchObject({ reason: "role 'namer' waits for a person's reply" });
    expect(reply).toHaveProperty('text', `${edgePrompt}\n\n---\nname: # required: text\n---\n\n`);
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
    ['may be a status in other capitals', review, 'Approved', { text: '', meta: { $status: 'approved' } }],
    [
      'may say more behind a colon',
      review,
      'rejected: too long\nMuch.',
      { text: 'too long\nMuch.', meta: { $status: 'rejected' } },
    ],
    ['may be the one word that is asked for', safety, 'no', { text: '', meta: { isSafe: false } }],
    ['is a part of the reply where a status needs more', release, 'broken', { text: '', meta: { $status: 'broken' } }],
    ['is never completed by a field that nobody gave', form, 'x', { text: 'x' }],
  ])('%s', async (_, outputSchema, answer, reply) => {
    expect(await ask(agentRequest({ outputSchema, answer }))).toEqual({ kind: 'reply', ...reply });
  });

  test.each([
    ['a status that it begins like', 'app'],
    ['a status that it does not name', 'approved, I think'],
  ])('is never taken for %s, and the refusal names the words', async (_, answer) => {
    expect(await ask(agentRequest({ outputSchema: review, answer }))).toEqual({
      kind: 'failed-attempt',
      reason: 'the answer has to begin with one of these words: approved, rejected',
      text: answer,
    });
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

  test.each([
    ['rm "$1"; exit 1', /the editor 'sh .*' failed/],
    ['rm "$1"', /^(?!.*(?:ENOENT|failed))/],
  ])('an editor that takes the file away suspends: %s', async (script, reason) => {
    expect(await ask(atTerminal(script))).toMatchObject({ kind: 'suspend', reason: expect.stringMatching(reason) });
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
  /** Asks a person who says these lines, and tells what they were asked. */
  async function converse(
    lines: readonly string[],
    changes: Partial<ObservedRequest>,
  ): Promise<{ reply: AgentReply; asked: string[] }> {
    const asked: string[] = [];
    const askPerson: ObservedRequest['askPerson'] = (question) =>
      Promise.resolve(lines[asked.push(question) - 1] ?? '');
    return { reply: await ask(agentRequest({ edgePrompt: 'May it?', ...changes, askPerson })), asked };
  }

  test.each<[string, JsonObject, string[], object]>([
    ['a word', review, ['approved'], { text: '', meta: { $status: 'approved' } }],
    ['its beginning, after another word', review, ['perhaps', 'App'], { text: '', meta: { $status: 'approved' } }],
    ['its number', review, ['3', '2: much'], { text: 'much', meta: { $status: 'rejected' } }],
    ['yes', safety, ['y'], { text: '', meta: { isSafe: true } }],
    [
      'a word and what it needs, each until it is right',
      release,
      ['re', '9', 'v9', 'a.ts, b.ts', 'many', '0', '2'],
      { text: '', meta: { $status: 'ready', version: 'v9', files: ['a.ts', 'b.ts'], count: 2 } },
    ],
    ['a word and another', release, ['b', 'lo'], { text: '', meta: { $status: 'broken', severity: 'low' } }],
    ['a word and what a condition needs', conditional, ['b', 'x'], { text: '', meta: { $status: 'broken', why: 'x' } }],
    ['a field alone', form, ['Otto'], { text: '', meta: { name: 'Otto' } }],
    [
      'a text where nothing else is needed',
      confirmation,
      ['It is.\nReally.'],
      { text: 'It is.\nReally.', meta: { $status: 'done' } },
    ],
  ])('the answer is %s', async (_, outputSchema, lines, expected) => {
    const { reply, asked } = await converse(lines, { outputSchema });
    expect(reply).toEqual({ kind: 'reply', ...expected });
    expect(asked).toHaveLength(lines.length);
  });

  test('the question is asked with its choices, and no word of the form', async () => {
    const forPerson = { briefing: '# The task\n\nRelease v9\n', question: 'May v9 go out?' };
    const { asked } = await converse(['perhaps', 'r'], { outputSchema: review, forPerson });
    expect(asked).toEqual([
      '# The task\n\nRelease v9\n\n(a word answers, with more behind a colon; Enter alone leaves it for later)\nMay v9 go out? [approved/rejected] ',
      "'perhaps' is not one of the answers\nMay v9 go out? [approved/rejected] ",
    ]);
  });

  test('many or long choices stand below each other', async () => {
    const words = Array.from({ length: 20 }, (_, at) => `possibility-${at}`);
    const outputSchema = { properties: { $status: { enum: words } }, required: ['$status'] };
    const { reply, asked } = await converse(['20'], { outputSchema });
    expect(asked[0]).toContain('\n   1  possibility-0\n'.replace('   1', '  1'));
    expect(reply).toHaveProperty('meta.$status', 'possibility-19');
  });

  test.each<[string, string[], object[]]>([
    ['is the first word', ['v7', 'a', '1'], [{ $status: 'ready', version: 'v7', files: ['a'], count: 1 }]],
    ['is left for later', ['v7', ''], []],
  ])('an answer that lacks something %s', async (_, lines, metas) => {
    const { reply } = await converse(lines, { outputSchema: release, answer: 'ready' });
    expect(reply).toMatchObject(metas.length > 0 ? { kind: 'reply', meta: metas[0] } : { kind: 'suspend' });
  });

  test('an answer that is none of the words is asked for again, with the words', async () => {
    const { reply, asked } = await converse(['approved'], { outputSchema: review, answer: 'yes' });
    expect(asked).toEqual([expect.stringMatching(/'yes' is not one of the answers[^]*\[approved\/rejected\] $/u)]);
    expect(reply).toHaveProperty('meta.$status', 'approved');
  });

  test('after a refusal its reasons are told, and not the rest again', async () => {
    const forPerson = { briefing: '# The task\n\nRelease v9\n', question: 'May v9 go out?' };
    const prompt = 'Do the work.\n\n# Your last reply was not accepted\n\n- it is Friday\n';
    const { asked } = await converse(['r'], { outputSchema: review, forPerson, attempt: 1, prompt });
    expect(asked[0]).toMatch(/- it is Friday[^]*May v9 go out\? \[approved\/rejected\] $/u);
    expect(asked[0]).not.toContain('The task');
  });

  test.each([[review], [form], [{ type: 'object' }]])('saying nothing suspends (%j)', async (outputSchema) => {
    expect((await converse([' \n'], { outputSchema })).reply).toHaveProperty('kind', 'suspend');
  });

  test.each([[review], [{ type: 'object' }]])('an abort does not wait for the answer (%j)', async (outputSchema) => {
    const askPerson = (): Promise<string> => new Promise(() => {});
    const request = agentRequest({ outputSchema, askPerson, signal: AbortSignal.timeout(10) });
    await expect(ask(request)).rejects.toHaveProperty('name', 'TimeoutError');
  });
});
