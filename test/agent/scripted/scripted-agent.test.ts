import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { AgentBroken } from '../../../src/agent/agent-errors.ts';
import { createAgent } from '../../../src/agent/scripted/scripted-agent.ts';
import type { AgentReply, AgentRequest } from '../../../src/agent/contract.ts';
import type { JsonObject } from '../../../src/json.ts';
import { agentRequest, temporaryFolder } from '../../helpers/agent-request.ts';

/** What a script says to the role `worker`. */
function say(entries: JsonObject['string'][], changes: Partial<AgentRequest> = {}, more = {}): Promise<AgentReply> {
  return createAgent({ replies: { worker: entries }, ...more }).run(agentRequest(changes));
}

describe('which entry is said', () => {
  test('depends on the role and its visit', async () => {
    const agent = createAgent({ replies: { worker: ['one', 'two'], checker: ['three'] } });
    expect(await agent.run(agentRequest({ visit: 0 }))).toEqual({ kind: 'reply', text: 'one' });
    expect(await agent.run(agentRequest({ visit: 1 }))).toEqual({ kind: 'reply', text: 'two' });
    expect(await agent.run(agentRequest({ role: 'checker' }))).toEqual({ kind: 'reply', text: 'three' });
  });

  test('is an error beyond the last one, which names the role and the visit', async () => {
    await expect(say(['one'], { visit: 1 })).rejects.toThrow("no reply for role 'worker' at visit 2");
    await expect(say([], {})).rejects.toThrow(AgentBroken);
  });

  test('is the last one again where the script repeats', async () => {
    expect(await say(['one', 'two'], { visit: 9 }, { repeat: true })).toHaveProperty('text', 'two');
  });

  test('is an error for a role that the script does not know', async () => {
    await expect(say(['one'], { role: 'constructor' })).rejects.toMatchObject({
      message: "the script has no replies for role 'constructor'",
      hint: expect.stringContaining('worker'),
    });
  });

  test('can be another one when the agent is asked again', async () => {
    const entry = { reply: 'wrong', retries: ['wrong again', { reply: 'right' }] };
    expect(await say([entry], { attempt: 0 })).toHaveProperty('text', 'wrong');
    expect(await say([entry], { attempt: 1 })).toHaveProperty('text', 'wrong again');
    expect(await say([entry], { attempt: 2 })).toHaveProperty('text', 'right');
    await expect(say([entry], { attempt: 3 })).rejects.toThrow('try 4 of visit 1');
    expect(await say(['same'], { attempt: 3 })).toHaveProperty('text', 'same');
  });
});

describe('what an entry does', () => {
  test('puts texts first and names them by their hashes', async () => {
    const request = agentRequest();
    const entry = {
      put: ['first phase', 'second phase'],
      reply: '---\nphases: [{{ put[0] }}, {{put[1]}}]\n---\n{{ put[2] }}',
      meta: { phases: [{ hash: '{{ put[1] }}' }], count: 2 },
    };
    const reply = await createAgent({ replies: { worker: [entry] } }).run(request);
    const [first, second] = await request.cas.list();
    expect(reply).toEqual({
      kind: 'reply',
      text: `---\nphases: [${first}, ${second}]\n---\n{{ put[2] }}`,
      meta: { phases: [{ hash: second }], count: 2 },
    });
    expect(await request.cas.get(first ?? '')).toBe('first phase');
  });

  test('fails', async () => {
    expect(await say([{ fail: 'no network', reply: 'half a' }])).toEqual({
      kind: 'failed-attempt',
      reason: 'no network',
      text: 'half a',
    });
  });

  test('suspends, and goes on with what was answered', async () => {
    const entry = { suspend: 'Which branch?', reply: 'Took {{ answer }}.' };
    expect(await say([entry])).toEqual({ kind: 'suspend', cause: 'agent', reason: 'Which branch?' });
    expect(await say([entry], { answer: 'main' })).toEqual({ kind: 'reply', text: 'Took main.' });
    expect(await say([{ suspend: 'Again?' }], { answer: 'main' })).toHaveProperty('kind', 'suspend');
  });

  test('waits, and an abort ends the wait with its reason', async () => {
    const started = performance.now();
    await say([{ delayMs: 60, reply: 'late' }]);
    expect(performance.now() - started).toBeGreaterThan(50);
    const signal = AbortSignal.timeout(10);
    await expect(say([{ delayMs: 60_000, reply: 'late' }], { signal })).rejects.toHaveProperty('name', 'TimeoutError');
  });

  test('waits also for longer than a timer of Node can', async () => {
    const signal = AbortSignal.timeout(50);
    const said = say([{ delayMs: 2 ** 31, reply: 'late' }], { signal });
    await expect(said).rejects.toHaveProperty('name', 'TimeoutError');
  });

  test('tells what it used, and says its text as an event', async () => {
    const usage = { inputTokens: 10, outputTokens: 2, turns: 1 };
    const request = agentRequest();
    const agent = createAgent({ replies: { worker: [{ reply: 'text', usage }] } });
    expect(await agent.run(request)).toEqual({ kind: 'reply', text: 'text', usage });
    expect(request.events).toEqual([{ kind: 'text', text: 'text' }]);
  });
});

describe('a script in a file', () => {
  test('is read as YAML', async () => {
    const file = join(temporaryFolder(), 'script.yaml');
    writeFileSync(file, 'worker:\n  - |\n    ---\n    $status: done\n    ---\n  - { fail: tired }\n');
    const agent = createAgent({ file });
    expect(await agent.run(agentRequest())).toEqual({ kind: 'reply', text: '---\n$status: done\n---\n' });
    expect(await agent.run(agentRequest({ visit: 1 }))).toHaveProperty('kind', 'failed-attempt');
  });

  test.each([
    ['is not there', undefined, /cannot be read/u],
    ['is not YAML', 'worker: [', /is not YAML: [^\n]* at line 1, column 10$/u],
    ['is not YAML either', 'root: x: secret\nroot', /is not YAML: [^\n]*$/u],
    ['is too large', '#'.repeat(1024 * 1024 + 1), /cannot be read/u],
    ['is no map', '- one', /does not list replies by role/u],
    ['is no script', 'worker:\n  - { replay: x }\n', /script\.worker\[0\]/u],
  ])('that %s is named, with what is wrong', async (_, source, message) => {
    const file = join(temporaryFolder(), 'script.yaml');
    if (source !== undefined) writeFileSync(file, source);
    const error = await createAgent({ file })
      .run(agentRequest())
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(AgentBroken);
    expect(error).toHaveProperty('message', expect.stringMatching(message));
    expect(error).toHaveProperty('message', expect.stringContaining(file));
  });
});
