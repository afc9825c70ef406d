import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import type { JsonObject } from '../../../src/json.ts';
import { configOf, createFixture, reply, statuses, workflow } from '../engine-fixture.ts';

const schema = {
  ...statuses('deployed', 'failed'),
  properties: { $status: { enum: ['deployed', 'failed'] }, url: {} },
};
const ship = workflow('ship', { deployer: schema }, 'deployer > end');

/** A thread whose role a shell script does, which leaves a line in a file each time that it runs. */
async function shipBy(
  script: string,
  config: JsonObject = {},
  definition = ship,
): Promise<Awaited<ReturnType<typeof createFixture>> & { thread: string; runs: () => number }> {
  const argv = ['sh', '-c', `echo deployed >> log; ${script}`];
  const program = { package: 'builtin:command', config: { argv, ...config } };
  const fixture = await createFixture(configOf({ deployer: program }));
  const { thread } = await fixture.engine.start({ definition, prompt: 'Ship it.' });
  const log = join(fixture.dir, 'log');
  const runs = (): number => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').length : 0);
  return { ...fixture, thread, runs };
}

const deployed = `printf -- '${reply('deployed').replaceAll('\n', '\\n')}'`;

const strict = workflow('strict', { deployer: { ...schema, required: ['$status', 'url'] } }, ship.moderator);

describe('a program runs once a turn', () => {
  test.each([
    ['that fails', 'echo no disk >&2; exit 1', {}, ship, 'agent', /exit code 1: no disk/],
    ['that dies by a signal', 'kill -9 $$', {}, ship, 'agent', /SIGKILL/],
    ['that says too much', 'yes', { maxOutputBytes: 100 }, ship, 'agent', /maxOutputBytes/],
    ['whose status is not enough', 'echo ok', { statuses: { 0: 'deployed' } }, strict, 'invalid-reply', /url/],
  ] as const)('%s', async (_, script, config, definition, cause, words) => {
    const { engine, thread, runs } = await shipBy(script, config, definition);
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.suspended', cause, text: expect.stringMatching(words) });
    expect(over).toHaveProperty('text', expect.stringContaining('not run again until the thread is resumed'));
    expect(runs()).toBe(1);
    // A person says that it shall run once more.
    await engine.resume(thread, {});
    expect(runs()).toBe(2);
  });

  test('unless it writes its reply itself, which it may correct', async () => {
    const { engine, thread, runs } = await shipBy(
      `[ $(wc -l < log) -gt 1 ] || { echo all is well; exit; }; ${deployed}`,
    );
    expect(await engine.run(thread)).toMatchObject({ event: 'thread.ended' });
    expect(runs()).toBe(2);
    const never = await shipBy('echo all is well');
    expect(await never.engine.run(never.thread)).toMatchObject({ event: 'thread.suspended', cause: 'invalid-reply' });
    expect(never.runs()).toBe(3);
  });

  test('unless its configuration names the exit, as often as the role allows', async () => {
    const twice = await shipBy(`[ $(wc -l < log) -gt 1 ] || exit 75; ${deployed}`, {
      retryOnExit: [75],
    });
    expect(await twice.engine.run(twice.thread)).toMatchObject({ event: 'thread.ended' });
    expect(twice.runs()).toBe(2);
    const always = await shipBy('exit 75', { retryOnExit: [75] });
    expect(await always.engine.run(always.thread)).toMatchObject({ text: expect.stringContaining('in 3 tries') });
    expect(always.runs()).toBe(3);
  });

  test('or says that it answers, which has a reply corrected, and a failure still not', async () => {
    const talks = await shipBy(`cat > told; grep -q 'was not accepted' told && ${deployed} || echo Hello.`, {
      answers: true,
    });
    expect(await talks.engine.run(talks.thread)).toMatchObject({ event: 'thread.ended' });
    expect(talks.runs()).toBe(2);
    const fails = await shipBy('exit 1', { answers: true });
    expect(await fails.engine.run(fails.thread)).toMatchObject({ event: 'thread.suspended' });
    expect(fails.runs()).toBe(1);
  });
});

describe('a program is asked', () => {
  const done = { statuses: { 0: 'deployed' } };

  test('nothing, and not to sum up, unless it was made for that', async () => {
    const { engine, thread, runs, events } = await shipBy('echo done', done);
    await engine.run(thread);
    const refused = {
      code: 'cannot-be-asked',
      kind: 'usage',
      hint: expect.stringMatching(/--agent.*'answers: true'.*'deployer-agent'/),
    };
    await expect(engine.ask(thread, 'Why?')).rejects.toMatchObject(refused);
    expect(runs()).toBe(1);
    expect(events.filter(({ event }) => event === 'agent.text')).toHaveLength(1);
  });

  test('to sum up no more than that', async () => {
    const loop = workflow('loop', { deployer: schema }, [
      { from: 'deployer', to: 'deployer', when: null },
      ...ship.moderator.slice(0, 1),
    ]);
    const { engine, thread, runs } = await shipBy('echo done', done, loop);
    await engine.step(thread);
    await expect(engine.compact(thread)).rejects.toMatchObject({ code: 'cannot-be-asked' });
    await expect(engine.compact(thread, { agent: 'deployer-agent' })).rejects.toMatchObject({
      code: 'cannot-be-asked',
    });
    expect(runs()).toBe(1);
    expect(await engine.compact(thread, { text: 'Short.' })).toMatchObject({ steps: 1 });
  });

  test('where it answers', async () => {
    const { engine, thread, runs } = await shipBy('echo because', { ...done, answers: true });
    await engine.run(thread);
    expect(await engine.ask(thread, 'Why?')).toMatchObject({ text: 'because\n' });
    expect(runs()).toBe(2);
  });
});

test('what failed is told to the next role, whichever stream the program reports on', async () => {
  const develop = workflow('develop', { tester: statuses('passed', 'failed'), coder: statuses('changed') }, [
    'tester [failed] > coder',
    'tester > end',
    'coder > tester',
  ]);
  const test = (script: string, more: JsonObject = {}): { package: string; config: JsonObject } => ({
    package: 'builtin:command',
    config: { argv: ['sh', '-c', script], statuses: { 0: 'passed', default: 'failed' }, ...more },
  });
  const coder = { package: 'builtin:command', config: { argv: ['sh', '-c', 'cat > told; exit 1'] } };
  for (const tester of [
    test('echo "sum.js:3 is 5, not 4" >&2; exit 1'),
    test('echo running; echo "sum.js:3 is 5, not 4" >&2; exit 1', { output: 'both' }),
    test('echo running; echo "sum.js:3 is 5, not 4" >&2; exit 1', { output: 'stderr' }),
  ]) {
    const { engine, dir } = await createFixture(configOf({ tester, coder }));
    const { thread } = await engine.start({ definition: develop, prompt: 'Do sums.' });
    await engine.run(thread);
    expect(readFileSync(join(dir, 'told'), 'utf8')).toContain('sum.js:3 is 5, not 4');
  }
});
