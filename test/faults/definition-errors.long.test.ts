import { describe, expect, test } from 'vitest';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { config, createScene, diligent, filesBelow, role, roleWith, unfinishedBelow, workflow } from './scene.ts';
import type { Scene } from './scene.ts';

const done = { $status: { enum: ['done'] } };
const toEnd = { from: 'worker', to: '__end__', when: null };

/** Replies with a link to a node that nobody has put. */
const dangler = `#!/bin/sh
printf -- '---\\n$status: done\\nlink: ZZZZZZZZZZZZZ\\n---\\nSee there.\\n' | sed s/ZZZZZZZZZZZZZ/0TNAK7Z2QWERT/
`;

function createWorkScene(roleText: string, rules: readonly unknown[], program = ['./agent'], agent = diligent): Scene {
  const start = { from: '__start__', to: 'worker', when: null };
  return createScene({
    '.uwf/workflows/work.yaml': workflow('work', { worker: roleText }, [start, ...rules]),
    '.uwf/config.yaml': config(program),
    agent,
  });
}

/** Runs the workflow; nothing half-written stays. */
async function runWork(
  scene: Scene,
): Promise<{ code: number | null; last: Record<string, unknown>; error: Record<string, unknown> }> {
  const { code, json, stderr } = await scene.uwf(['run', 'work', '-p', 'do it', '--json']);
  expect(unfinishedBelow(scene.gitDir)).toEqual([]);
  expectCleanFsck(scene.dir);
  const { error = {} } = stderr === '' ? {} : (JSON.parse(stderr) as { error?: Record<string, unknown> });
  return { code, last: json.at(-1) ?? {}, error };
}

describe('a rule that', () => {
  test.each([
    ['recurses for ever without a stack', '($f := function($n){ $f($n + 1) }; $f(1))', 'did not end within 1000 ms'],
    ['recurses for ever', '($f := function($n){ 1 + $f($n + 1) }; $f(1) > 1)', /Stack overflow|did not end within/],
    ['backtracks for ever', `$match('${'a'.repeat(40)}!', /^(a+)+$/)`, 'did not end within 1000 ms'],
    ['asks for 400 MB', '$length($pad("", 2e8, "xy")) > 0', /needs more than \d+ MB|did not end within/],
  ])('%s suspends the thread with 4, and says which rule and why', async (_name, when, why) => {
    const scene = createWorkScene(role('done'), [{ from: 'worker', to: '__end__', when }]);
    const { code, last } = await runWork(scene);
    expect(code).toBe(4);
    expect(last).toMatchObject({ event: 'thread.suspended', status: 'suspended', cause: 'rule' });
    expectRule(scene, last, why);
  });

  test('holds for nothing fails the thread with 3, and says which rules there are', async () => {
    const scene = createWorkScene(role('done'), [{ from: 'worker', to: '__end__', when: 'false' }]);
    const { code, last } = await runWork(scene);
    expect(code).toBe(3);
    expect(last).toMatchObject({ event: 'thread.failed', status: 'failed', returnCode: 1 });
    expectRule(scene, last, "no rule from 'worker' holds");
    expect(scene.git('for-each-ref', 'refs/threads')).toBe('');
  });
});

/** Expects that a thread stopped because of its second rule, and has what the agent did before. */
function expectRule(scene: Scene, last: Record<string, unknown>, why: RegExp | string): void {
  expect(last['text']).toMatch(why);
  expect(last['text']).toContain('rule 2 (worker -> __end__)');
  expect(scene.lines('turns')).toEqual(['worker']);
  expect(scene.git('log', '--format=%s', '-1', `${String(last['head'])}^`)).toBe('worker: worker has done its work.');
}

describe('a reply that', () => {
  test('never validates is asked for three times and suspends the thread with 4', async () => {
    const scene = createWorkScene(role('other'), [toEnd]);
    const { code, last } = await runWork(scene);
    expect(code).toBe(4);
    expect(last).toMatchObject({ event: 'thread.suspended', text: expect.stringContaining('$status must be one of') });
    expect(scene.lines('turns')).toHaveLength(3);
    expect(
      scene.git('ls-tree', '-r', '--name-only', String(last['head'])).match(/attempts\/0\d\/output/g),
    ).toHaveLength(3);
  });

  test('links to what does not exist is refused by the name of the hash', async () => {
    const link = { type: 'string', format: 'cas_ref' };
    const scene = createWorkScene(roleWith({ ...done, link }), [toEnd], ['./agent'], dangler);
    const { code, last } = await runWork(scene);
    expect(code).toBe(4);
    expect(last).toMatchObject({ text: expect.stringContaining('0TNAK7Z2QWERT is the hash of nothing') });
    expect(last['text']).toContain('uwf cas put');
  });

  test('meets a check that comes to no end is kept, and not paid for again', async () => {
    const check = [{ expression: '$length($pad("", 2e8, "xy")) > 0', message: 'too short' }];
    const scene = createWorkScene(roleWith(done, { check }), [toEnd]);
    const { code, last } = await runWork(scene);
    expect(code).toBe(4);
    expect(last).toMatchObject({ text: expect.stringContaining('check 1 of the role does not work') });
    expect(scene.lines('turns')).toEqual(['worker']);
    expect(scene.git('show', `${String(last['head'])}:output.md`)).toContain('worker has done its work.');
  });
});

describe('an agent that is missing', () => {
  test('stops `run` before a thread is there, with 6, and the lines to add', async () => {
    const scene = createWorkScene(role('done'), [toEnd]);
    scene.write('.uwf/config.yaml', '{}');
    const before = filesBelow(scene.gitDir);
    const { code, error } = await runWork(scene);
    expect(code).toBe(6);
    expect(error).toMatchObject({ code: 'agent-missing', message: expect.stringContaining("role 'worker'") });
    expect(error['hint']).toContain('work.worker: me');
    expect(filesBelow(scene.gitDir)).toEqual(before);
  });

  test('stops `run` as well where its package is not installed', async () => {
    const scene = createWorkScene(role('done'), [toEnd]);
    scene.write('.uwf/config.yaml', '{"agents": {"robot": {"package": "uwf-agent-none"}}, "defaultAgent": "robot"}');
    const { code, error } = await runWork(scene);
    expect([code, error['hint']]).toEqual([6, expect.stringContaining('npm install uwf-agent-none')]);
    expect(scene.git('for-each-ref')).toBe('');
  });

  test('leaves the thread idle where its program is not found, and the thread goes on when it is', async () => {
    const scene = createWorkScene(role('done'), [toEnd], ['./no-such-program']);
    const { code, error, last } = await runWork(scene);
    expect(code).toBe(6);
    expect(error).toMatchObject({ code: 'agent-missing', message: expect.stringContaining('./no-such-program') });
    const thread = String(last['thread']);
    expect((await scene.uwf(['thread', 'show', thread, '--json'])).json[0]).toMatchObject({ status: 'idle', steps: 0 });
    scene.write('no-such-program', diligent);
    expect((await scene.uwf(['thread', 'run', thread])).code).toBe(0);
  });
});
