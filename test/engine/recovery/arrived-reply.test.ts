import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { type EngineOptions } from '../../../src/engine/engine-context.ts';
import { createEngine, type Engine } from '../../../src/engine/engine.ts';
import type { JsonObject } from '../../../src/json.ts';
import { createRedactor } from '../../../src/redaction/create-redactor.ts';
import type { Redactor } from '../../../src/redaction/redactor.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { installReportingAgent, reportingConfig, type ReportedAct } from '../../helpers/reporting-agent.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { createFixture, expectSound, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

const usage = { inputTokens: 70, outputTokens: 30, turns: 2, costUsd: 0.25 };
const sealKey = (): Uint8Array => Buffer.alloc(32, 7);

function once(schema: JsonObject): WorkflowDefinition {
  return workflow('once', { worker: schema }, [
    { from: '__start__', to: 'worker', when: null },
    { from: 'worker', to: '__end__', when: null },
  ]);
}

/** The turn of an agent that notes that it ran, and replies. */
type Scene = EngineFixture & { thread: string; options: Partial<EngineOptions>; runs: () => number };

async function createScene(schema: JsonObject, acts: ReportedAct[][]): Promise<Scene> {
  const runsFile = join(createTemporaryFolder(), 'runs');
  const options = { config: reportingConfig({ worker: acts }, {}, runsFile), sealKey };
  const fixture = await createFixture(options.config, options);
  installReportingAgent(fixture.dir);
  const { thread } = await fixture.engine.start({ definition: once(schema), prompt: 'Work.' });
  const runs = (): number => readFileSync(runsFile, 'utf8').trim().split('\n').length;
  return { ...fixture, thread, options, runs };
}

const replies = (meta: JsonObject, text = 'All of it.'): ReportedAct => ({
  reply: { kind: 'reply', text, meta, usage },
});

function engineOn({ repository, options }: Scene, more: Partial<EngineOptions>): Engine {
  return createEngine({ repository, config: options.config!, sealKey, env: { PATH: process.env['PATH'] }, ...more });
}

/** The repository, in which a method of a part does something else from the beginning of the thread's turn on. */
function faulty(
  { repository }: Scene,
  part: 'refs' | 'objects',
  method: string,
  fault: (call: number) => unknown,
): Partial<EngineOptions> {
  let calls = 0;
  let isArmed = false;
  const broken = new Proxy(repository[part], {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown =>
        (isArmed && name === method ? fault(++calls) : undefined) ?? Reflect.apply(value, target, args);
    },
  });
  return {
    repository: { ...repository, [part]: broken },
    onEvent: ({ event }) => void (isArmed ||= event === 'step.started'),
  };
}

function raise(): never {
  throw new TypeError('injected');
}

describe('a reply that has arrived is paid for', () => {
  test('its schema takes too long: the turn is suspended with the reply, its fields and its cost', async () => {
    const schema = { type: 'object', properties: { list: { type: 'string', pattern: '^((ab?)+,?)+;$' } } };
    const scene = await createScene(schema, [[replies({ list: 'ab'.repeat(40) })]]);
    const { engine, thread, git } = scene;
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.suspended', cause: 'invalid-reply' });
    expect(over.text).toContain('the reply could not be checked: checking a value');
    expect(git('show', `${over.head}:output.md`)).toMatch(/^---\nlist: abab.*\n---\nAll of it\.$/s);
    expect(await engine.describe(thread)).toMatchObject({ usage });
    await expectSound(scene);
  });

  test.each([
    ['links are looked up', 'refs', 'read', 'could not be checked'],
    ['the step is written', 'objects', 'write', 'could not be stored'],
  ] as const)('a mistake of uwf while %s: the turn is suspended with it', async (_, part, method, what) => {
    const scene = await createScene(statuses('done'), [[replies({ $status: 'done' })]]);
    const { thread, git } = scene;
    const over = await engineOn(
      scene,
      faulty(scene, part, method, (call) => (call === 1 ? raise() : undefined)),
    ).run(thread);
    expect(over).toMatchObject({ event: 'thread.suspended', text: `the reply ${what}: injected` });
    expect(git('show', `${over.head}:output.md`)).toBe('---\n$status: done\n---\nAll of it.');
    expect(await scene.engine.describe(thread)).toMatchObject({ usage });
    await expectSound(scene);
  });

  test('nothing at all can be written: it is kept, its cost counts, and is counted once when it is stored', async () => {
    const scene = await createScene(statuses('done'), [[replies({ $status: 'done' })]]);
    const { engine, thread } = scene;
    const broken = engineOn(scene, faulty(scene, 'objects', 'write', raise));
    await expect(broken.run(thread)).rejects.toThrow('it is kept in');
    expect(await engine.describe(thread)).toMatchObject({ usage, steps: 0 });
    expect(await engine.run(thread)).toMatchObject({ event: 'thread.ended' });
    expect(await engine.describe(thread)).toMatchObject({ usage, steps: 1 });
    expect(scene.runs()).toBe(1);
    await expectSound(scene);
  });

  test('its redaction fails in a way that nothing foresaw: it is kept, encrypted', async () => {
    const scene = await createScene(statuses('done'), [[replies({ $status: 'done' }, 'It says unforeseen.')]]);
    const { engine, thread, dir } = scene;
    const sound = createRedactor({ key: sealKey(), known: [] });
    const check = (text: string): void => (text.includes('unforeseen') ? raise() : undefined);
    const redactor: Redactor = {
      ...sound,
      table: sound.table,
      openStream: () => sound.openStream(),
      redactText: (text) => (check(text), sound.redactText(text)),
      redactValue: (value, keep) => (check(JSON.stringify(value)), sound.redactValue(value, keep)),
    };
    await expect(engineOn(scene, { redactor }).run(thread)).rejects.toMatchObject({ code: 'redaction-failed' });
    expect(readFileSync(join(dir, '.git', 'uwf', 'pending', `${thread}.json`), 'utf8')).not.toContain('unforeseen');
    await expect(engine.run(thread)).rejects.toMatchObject({ code: 'redaction-failed' });
    const ended = { event: 'thread.ended', text: expect.stringContaining('unforeseen') as string };
    expect(await engineOn(scene, { redactor }).run(thread, { allowSecrets: true })).toMatchObject(ended);
    expect(scene.runs()).toBe(1);
    // Its summary is what the rules say, although it could not be searched either.
    await expectSound(scene);
  });
});

/** Takes the turn in a process that ends between the reply and its step: it hangs there, and its lease is taken away. */
async function dieAfterReply(scene: Scene, verb: 'run' | 'step' = 'run'): Promise<void> {
  let isHanging = false;
  const hang = (): Promise<never> => ((isHanging = true), new Promise(() => {}));
  void engineOn(scene, faulty(scene, 'objects', 'write', hang))[verb](scene.thread);
  await vi.waitFor(() => expect(isHanging).toBe(true), { timeout: 30_000 });
  rmSync(join(scene.dir, '.git', 'uwf', 'leases', `${scene.thread}.json`));
}

describe('the process ends between a reply and its step', () => {
  test('the next one stores the reply, as it was told and when it came, and no agent runs for it', async () => {
    const trace: ReportedAct[] = [{ emit: { kind: 'tool-call', id: '1', name: 'look', arguments: {} } }];
    const scene = await createScene(statuses('done'), [[...trace, replies({ $status: 'done' })]]);
    const { engine, thread, git, events } = scene;
    await dieAfterReply(scene);
    expect(await engine.describe(thread)).toMatchObject({ usage, steps: 0 });
    const { head } = await engine.run(thread);
    expect(scene.runs()).toBe(1);
    expect(events.filter(({ event }) => event === 'reply.stored')).toHaveLength(1);
    expect(git('show', `${head}~1:output.md`)).toBe('All of it.');
    expect(git('ls-tree', '-r', '--name-only', `${head}~1`)).toContain('trace/001/calls/1-look.json');
    expect(await engine.describe(thread)).toMatchObject({ usage, steps: 1 });
    expect(existsSync(join(scene.dir, '.git', 'uwf', 'turns', `${thread}.jsonl`))).toBe(false);
    await expectSound(scene);
  });

  test('a reply that is not accepted goes back to the agent, and both are paid and counted', async () => {
    const acts = [[replies({ $status: 'maybe' })], [replies({ $status: 'done' })]];
    const scene = await createScene(statuses('done'), acts);
    // The first process ends over the second reply, the second one stores it.
    await dieAfterReply(scene);
    const { engine, thread, git } = scene;
    const { head } = await engine.run(thread);
    expect(scene.runs()).toBe(2);
    expect(git('show', `${head}~1:attempts/01/attempt.json`)).toContain('meta.$status');
    expect(await engine.describe(thread)).toMatchObject({ usage: { costUsd: 0.5, turns: 4 }, steps: 1 });
    await expectSound(scene);
  });

  test('it is stored as an attempt where a person cancels the thread', async () => {
    const scene = await createScene(statuses('done'), [[replies({ $status: 'done' })]]);
    await dieAfterReply(scene);
    const { engine, thread, git } = scene;
    const { head } = await engine.cancel(thread);
    expect(git('show', `${head}~1:attempts/01/output.md`)).toBe('---\n$status: done\n---\nAll of it.');
    expect(JSON.parse(git('show', `${head}~1:suspend.json`))).toMatchObject({
      payload: { cause: 'interrupted', usage },
    });
    expect(await engine.describe(thread)).toMatchObject({ usage, status: 'cancelled' });
    await expectSound(scene);
  });

  test('a reply over which three processes have ended waits for a person', async () => {
    const scene = await createScene(statuses('done'), [[replies({ $status: 'done' })]]);
    for (let times = 0; times < 4; times += 1) await dieAfterReply(scene);
    const { engine, thread, git } = scene;
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.suspended', cause: 'invalid-reply' });
    expect(git('show', `${over.head}:output.md`)).toContain('All of it.');
    expect(scene.runs()).toBe(1);
    expect(await engine.describe(thread)).toMatchObject({ usage });
    await expectSound(scene);
  });
});
