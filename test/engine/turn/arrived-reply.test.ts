import { existsSync, readFileSync, rmSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { createRedactor } from '../../../src/redaction/create-redactor.ts';
import type { Redactor } from '../../../src/redaction/redactor.ts';
import type { Act } from '../../helpers/plot.ts';
import { scenario, type Scenario, statuses } from '../../helpers/scenario.ts';

const usage = { inputTokens: 70, outputTokens: 30, turns: 2, costUsd: 0.25 };
const sealKey = (): Uint8Array => Buffer.alloc(32, 7);

/** A thread of one turn, whose agent notes that it ran, and replies. */
function createScene(acts: Act[][] = [[replies()]], schema: JsonObject = statuses('done')): Promise<Scenario> {
  return scenario({ flow: 'a > end', agents: { a: { acts } }, roles: { a: schema }, engine: { sealKey } });
}

function replies(meta: JsonObject = { $status: 'done' }, text = 'All of it.'): Act {
  return { reply: { kind: 'reply', text, meta, usage } };
}

function raise(): never {
  throw new TypeError('injected');
}

describe('a reply that has arrived is paid for', () => {
  test('its schema takes too long: the turn is suspended with the reply, its fields and its cost', async () => {
    const schema = { type: 'object', properties: { list: { type: 'string', pattern: '^((ab?)+,?)+;$' } } };
    const scene = await createScene([[replies({ list: 'ab'.repeat(40) })]], schema);
    const over = await scene.run();
    expect(over).toMatchObject({ event: 'thread.suspended', cause: 'invalid-reply' });
    expect(over.text).toContain('the reply could not be checked: checking a value');
    expect(await scene.read('output.md')).toMatch(/^---\nlist: abab.*\n---\nAll of it\.$/s);
    expect(await scene.view()).toMatchObject({ usage });
  });

  test.each([
    ['links are looked up', 'refs', 'read', 'could not be checked'],
    ['the step is written', 'objects', 'write', 'could not be stored'],
  ] as const)('a mistake of uwf while %s: the turn is suspended with it', async (_, part, method, what) => {
    const scene = await createScene();
    const broken = scene.beside(scene.faulty(part, method, (call) => (call === 1 ? raise() : undefined)));
    expect(await broken.run(scene.thread)).toMatchObject({
      event: 'thread.suspended',
      text: `the reply ${what}: injected`,
    });
    expect(await scene.read('output.md')).toBe('---\n$status: done\n---\nAll of it.');
    expect(await scene.view()).toMatchObject({ usage });
  });

  test('nothing at all can be written: it is kept, its cost counts, and is counted once when it is stored', async () => {
    const scene = await createScene();
    const broken = scene.beside(scene.faulty('objects', 'write', raise));
    await expect(broken.run(scene.thread)).rejects.toThrow('it is kept in');
    expect(await scene.view()).toMatchObject({ usage, steps: 0 });
    expect(await scene.run()).toMatchObject({ event: 'thread.ended' });
    expect(await scene.view()).toMatchObject({ usage, steps: 1 });
    expect(scene.runs()).toEqual(['a']);
  });

  test('its redaction fails in a way that nothing foresaw: it is kept, encrypted', async () => {
    const scene = await createScene([[replies({ $status: 'done' }, 'It says unforeseen.')]]);
    const sound = createRedactor({ key: sealKey(), known: [] });
    const check = (text: string): void => (text.includes('unforeseen') ? raise() : undefined);
    const redactor: Redactor = {
      ...sound,
      table: sound.table,
      openStream: () => sound.openStream(),
      redactText: (text) => (check(text), sound.redactText(text)),
      redactValue: (value, keep) => (check(JSON.stringify(value)), sound.redactValue(value, keep)),
    };
    const failing = scene.beside({ redactor });
    await expect(failing.run(scene.thread)).rejects.toMatchObject({ code: 'redaction-failed' });
    expect(readFileSync(scene.keptAt('pending'), 'utf8')).not.toContain('unforeseen');
    await expect(scene.run()).rejects.toMatchObject({ code: 'redaction-failed' });
    // Its summary is what the rules say, although it could not be searched either.
    const ended = { event: 'thread.ended', text: expect.stringContaining('unforeseen') as string };
    expect(await failing.run(scene.thread, { allowSecrets: true })).toMatchObject(ended);
    expect(scene.runs()).toEqual(['a']);
  });
});

/** Takes the turn in a process that ends between the reply and its step: it hangs there, and its lease is taken away. */
async function dieAfterReply(scene: Scenario): Promise<void> {
  let isHanging = false;
  const hang = (): Promise<never> => ((isHanging = true), new Promise(() => {}));
  void scene.beside(scene.faulty('objects', 'write', hang)).run(scene.thread);
  await vi.waitFor(() => expect(isHanging).toBe(true), { timeout: 30_000 });
  rmSync(scene.keptAt('leases'));
}

describe('the process ends between a reply and its step', () => {
  test('the next one stores the reply, as it was told and when it came, and no agent runs for it', async () => {
    const call = { emit: { kind: 'tool-call', id: '1', name: 'look', arguments: {} } } as const;
    const scene = await createScene([[call, replies()]]);
    await dieAfterReply(scene);
    expect(await scene.view()).toMatchObject({ usage, steps: 0 });
    const { head } = await scene.run();
    expect(scene.runs()).toEqual(['a']);
    expect(scene.told('reply.stored')).toHaveLength(1);
    expect(await scene.read('output.md', 1)).toBe('All of it.');
    expect(scene.git('ls-tree', '-r', '--name-only', `${head}~1`)).toContain('trace/001/calls/1-look.json');
    expect(await scene.view()).toMatchObject({ usage, steps: 1 });
    expect(existsSync(scene.keptAt('turns'))).toBe(false);
  });

  test('a reply that is not accepted goes back to the agent, and both are paid and counted', async () => {
    const scene = await createScene([[replies({ $status: 'maybe' })], [replies()]]);
    // The first process ends over the second reply, the second one stores it.
    await dieAfterReply(scene);
    await scene.run();
    expect(scene.runs()).toEqual(['a', 'a']);
    expect(await scene.read('attempts/01/attempt.json', 1)).toContain('meta.$status');
    expect(await scene.view()).toMatchObject({ usage: { costUsd: 0.5, turns: 4 }, steps: 1 });
  });

  test('it is stored as an attempt where a person cancels the thread', async () => {
    const scene = await createScene();
    await dieAfterReply(scene);
    await scene.engine.cancel(scene.thread);
    expect(await scene.read('attempts/01/output.md', 1)).toBe('---\n$status: done\n---\nAll of it.');
    expect(await scene.payload('suspend.json', 1)).toMatchObject({ cause: 'interrupted', usage });
    expect(await scene.view()).toMatchObject({ usage, status: 'cancelled' });
  });

  test('a reply over which three processes have ended waits for a person', async () => {
    const scene = await createScene();
    for (let times = 0; times < 4; times += 1) await dieAfterReply(scene);
    expect(await scene.run()).toMatchObject({ event: 'thread.suspended', cause: 'invalid-reply' });
    expect(await scene.read('output.md')).toContain('All of it.');
    expect(scene.runs()).toEqual(['a']);
    expect(await scene.view()).toMatchObject({ usage });
  });
});
