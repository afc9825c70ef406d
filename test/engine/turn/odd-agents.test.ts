import { expect, onTestFinished, test, vi } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { Verification } from '../../../src/verify/verification.ts';
import { installAgent } from '../../helpers/install-agent.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { configOf, createFixture, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

const once = workflow('once', { worker: statuses('done') }, 'worker > end');

/** A thread of one role, whose agent is a package with this `createAgent`. */
async function createScene(make: string, role: JsonObject = {}): Promise<EngineFixture & { thread: string }> {
  const fixture = await createFixture(configOf({ worker: { package: 'odd-agent', config: {} } }));
  const descriptor = "{ name: 'odd-agent', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } }";
  const source = `exports.packageDescriptor = ${descriptor};\nexports.createAgent = ${make};\n`;
  installAgent(fixture.dir, 'odd-agent', source);
  const definition = { ...once, roles: { worker: { ...once.roles['worker']!, retries: 0, ...role } } };
  const { thread } = await fixture.engine.start({ definition, prompt: 'Work.' });
  return { ...fixture, thread };
}

test('half a character in what an agent says is stored as U+FFFD', async () => {
  const said = "{ kind: 'reply', text: 'Cut \\ud83d', meta: { $status: 'done' }, stopReason: '\\ude00' }";
  const { dir, engine, thread } = await createScene(`() => ({ run: async () => (${said}) })`);
  expect(await engine.run(thread)).toMatchObject({ status: 'ended', text: 'Cut \ufffd' });
  expectCleanFsck(dir);
});

test.each([
  ['the error of an agent', "async () => { throw new Error('Cut \\ud83d'); }"],
  ['the reason of an agent that waits', "async () => ({ kind: 'suspend', cause: 'agent', reason: 'Cut \\ud83d' })"],
])('half a character in %s suspends the thread as another reason does', async (_, run) => {
  const { engine, thread } = await createScene(`() => ({ run: ${run} })`);
  const text = expect.stringContaining('Cut \ufffd') as string;
  expect(await engine.run(thread)).toMatchObject({ status: 'suspended', cause: 'agent', text });
});

test('an agent that changes the schema it is given changes nothing of what its reply is held to', async () => {
  const run =
    "async ({ outputSchema }) => { outputSchema.required = []; return { kind: 'reply', text: '', meta: {} }; }";
  const { engine, repository, thread } = await createScene(`() => ({ run: ${run} })`);
  const over = await engine.run(thread);
  expect(over).toMatchObject({ status: 'suspended', cause: 'invalid-reply' });
  expect((await new Verification(repository).verify(over.head)).findings).toEqual([]);
});

test.each([
  ['without a prototype', 'Object.create(null)', 'an error without a message'],
  ['that no text can be made of', "{ toString() { throw new Error('no'); } }", 'an error without a message'],
  ['whose message is no text', 'Object.assign(new Error(), { message: { code: 5 } })', '[object Object]'],
])('what an agent throws %s is an attempt that failed, and so is what its end throws', async (_, thrown, message) => {
  const run = `async function () { this.close = async () => { throw ${thrown}; }; throw ${thrown}; }`;
  const { engine, thread } = await createScene(`() => ({ run: ${run} })`);
  const text = expect.stringContaining(message) as string;
  expect(await engine.run(thread)).toMatchObject({ status: 'suspended', cause: 'agent', text });
});

test.each([
  ['its turn', '() => ({ run: () => new Promise(() => {}) })', { status: 'suspended', cause: 'timeout' }],
  [
    'its end',
    '() => ({ run: async () => (%s), close: () => new Promise(() => {}) })',
    { status: 'ended', text: 'Done.' },
  ],
])('an agent that never comes back from %s is waited for no longer than the grace time', async (_, make, ends) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const said = "{ kind: 'reply', text: 'Done.', meta: { $status: 'done' } }";
  const { engine, thread } = await createScene(make.replace('%s', said), { limits: { timeoutMs: 60_000 } });
  const running = engine.run(thread);
  const settled: unknown[] = [];
  void Promise.allSettled([running]).then(([end]) => settled.push(end));
  // How many rounds its files take depends on the machine.
  while (settled.length === 0) await vi.advanceTimersByTimeAsync(10_000);
  expect(await running).toMatchObject(ends);
  expect(vi.getTimerCount()).toBe(0);
});
