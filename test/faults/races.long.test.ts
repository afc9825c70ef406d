import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import {
  chain,
  config,
  createScene,
  diligent,
  patient,
  removeLease,
  role,
  unfinishedBelow,
  until,
  workflow,
} from './scene.ts';
import type { Scene } from './scene.ts';

function createChainScene(agent: string, roles: readonly string[] = ['one', 'two']): Scene {
  return createScene({
    '.uwf/workflows/chain.yaml': chain('chain', roles),
    '.uwf/config.yaml': config(['./agent']),
    agent,
  });
}

function expectTidy(scene: Scene): void {
  expect(unfinishedBelow(scene.gitDir)).toEqual([]);
  expectCleanFsck(scene.dir);
}

/** What was put under a thread: by step, and what waits for one. */
async function listPut(scene: Scene, thread: string): Promise<{ hash: string; step: string | null }[]> {
  const { json } = await scene.uwf(['cas', 'list', '--thread', thread, '--json']);
  return json as { hash: string; step: string | null }[];
}

describe('what is put under a thread', () => {
  test('by an agent, eight at once, is all taken in by that very step', async () => {
    const scene = createChainScene(`#!/bin/sh
for i in 1 2 3 4 5 6 7 8; do uwf cas put "note $i of $UWF_ROLE" >> puts & done
wait
printf -- '---\\n$status: done\\n---\\nAll is put.\\n'
`);
    const thread = await scene.startThread('chain');
    const step = await scene.uwf(['thread', 'step', thread, '--json']);
    expect(step.code).toBe(0);
    expect(new Set(scene.lines('puts')).size).toBe(8);
    const put = await listPut(scene, thread);
    expect(new Set(put.map(({ hash }) => hash))).toEqual(new Set(scene.lines('puts')));
    expect(new Set(put.map((entry) => entry.step))).toEqual(new Set([step.json[0]?.['step']]));
    expect(scene.git('for-each-ref', 'refs/uwf')).toBe('');
    expectTidy(scene);
  });

  test('by others while steps are being stored is lost by none, until the thread is over', async () => {
    const scene = createChainScene(diligent, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
    const thread = await scene.startThread('chain');
    const running = scene.start(['thread', 'run', thread, '--json']);
    const acknowledged: string[] = [];
    const over = new AbortController();
    const lane = async (number: number): Promise<void> => {
      for (let i = 0; !over.signal.aborted; i += 1) {
        const { code, json, stderr } = await scene.uwf(['cas', 'put', `${number} ${i}`, '--thread', thread, '--json']);
        if (code === 0) acknowledged.push(String(json[0]?.['hash']));
        else expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('wrong-thread-state') });
      }
    };
    const lanes = [0, 1, 2].map(lane);
    const { code } = await running.outcome;
    over.abort();
    await Promise.all(lanes);
    expect(code).toBe(0);
    const put = new Map((await listPut(scene, thread)).map(({ hash, step }) => [hash, step]));
    expect(acknowledged.filter((hash) => !put.has(hash))).toEqual([]);
    // Otherwise nothing was put while a step was being stored.
    expect(new Set(put.values()).size).toBeGreaterThan(1);
    expectTidy(scene);
  });
});

describe('two at once', () => {
  const asking = `#!/bin/sh
echo "$UWF_ROLE" >> turns
if [ ! -e asked ]; then touch asked; printf -- '---\\n$status: $SUSPEND\\nreason: Which colour?\\n---\\n'; exit; fi
sleep 0.5
printf -- '---\\n$status: done\\n---\\nThanks.\\n'
`;

  test('that resume a thread: one answer counts, and the agent is paid once for it', async () => {
    const scene = createChainScene(asking, ['one']);
    const thread = await scene.startThread('chain');
    expect((await scene.uwf(['thread', 'run', thread])).code).toBe(4);
    const outcomes = await Promise.all(
      ['Blue', 'Red', 'Green'].map((answer) => scene.uwf(['thread', 'resume', thread, '-p', answer, '--json'])),
    );
    // Who comes while it is worked on is told so; who comes later, that it does not wait any more.
    expect(outcomes.filter(({ code }) => code === 0)).toHaveLength(1);
    for (const { code, stderr } of outcomes) {
      if (code !== 0)
        expect({ code, stderr }).toMatchObject({ stderr: expect.stringMatching(/lease-held|wrong-thread-state/) });
      expect([0, 2, 5]).toContain(code);
    }
    expect(scene.lines('turns')).toEqual(['one', 'one']);
    const subjects = scene.git('log', '--format=%s', `refs/history/${historyOf(scene, thread)}`).split('\n');
    expect(subjects.filter((subject) => subject.startsWith('resumed: '))).toHaveLength(1);
    expectTidy(scene);
  });

  test('that take the last step without a lease: one ends the thread, the step of the other is a thread of its own', async () => {
    const scene = createChainScene(patient, ['one']);
    const thread = await scene.startThread('chain');
    const first = scene.start(['thread', 'run', thread, '--json']);
    await until('the first agent works', () => scene.lines('turns').length === 1);
    await removeLease(scene, thread);
    const second = scene.start(['thread', 'run', thread, '--json']);
    await until('the second agent works', () => scene.lines('turns').length === 2);
    scene.write('go', '');
    const outcomes = await Promise.all([first.outcome, second.outcome]);
    expect(new Set(outcomes.map(({ code }) => code))).toEqual(new Set([0, 5]));
    expect(historyOf(scene, thread)).toContain(thread);
    const fork = scene.git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads');
    expect(outcomes.find(({ code }) => code === 5)?.stderr).toContain(fork);
    expect((await scene.uwf(['thread', 'run', fork])).code).toBe(0);
    expect(scene.lines('turns')).toEqual(['one', 'one']);
    expectTidy(scene);
  });

  test('that find an ending cut in two, with a step on top: it is folded, and the step is a thread of its own', async () => {
    const scene = createChainScene(diligent);
    const thread = await scene.startThread('chain');
    await scene.uwf(['thread', 'step', thread]);
    const one = scene.git('rev-parse', `refs/threads/${thread}`);
    // Somebody else's step on the same head, and an end that has not taken the thread's ref away.
    const tree = scene.git('rev-parse', `${one}^{tree}`);
    const ahead = scene.git('commit-tree', tree, '-p', one, '-m', 'one: again');
    expect((await scene.uwf(['thread', 'run', thread])).code).toBe(0);
    scene.git('update-ref', `refs/threads/${thread}`, ahead);
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => scene.uwf(['thread', 'run', thread, '--json'])));
    for (const { code, stderr } of outcomes) expect({ code, stderr }).toMatchObject({ code: expect.toBeOneOf([0, 5]) });
    expect(outcomes.some(({ code }) => code === 0)).toBe(true);
    expect(scene.git('for-each-ref', '--format=%(objectname)', 'refs/threads')).toBe(ahead);
    expect(historyOf(scene, thread)).toContain(thread);
    expectTidy(scene);
  });
});

describe('a thread that somebody works on', () => {
  test('is not removed, not even by force; without its lease it is, and the step is kept', async () => {
    const scene = createChainScene(patient);
    const thread = await scene.startThread('chain');
    const running = scene.start(['thread', 'step', thread, '--json']);
    await until('the agent works', () => scene.lines('turns').length === 1);
    expect((await scene.uwf(['thread', 'rm', thread, '--force'])).code).toBe(5);
    await removeLease(scene, thread);
    expect((await scene.uwf(['thread', 'rm', thread, '--force'])).code).toBe(0);
    expect(scene.git('for-each-ref', 'refs/threads')).toBe('');
    scene.write('go', '');
    const { code, stderr } = await running.outcome;
    const fork = scene.git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads');
    expect({ code, stderr }).toMatchObject({ code: 5, stderr: expect.stringContaining(fork) });
    expect((await scene.uwf(['thread', 'show', fork, '--json'])).json[0]).toMatchObject({ status: 'idle', steps: 1 });
    expectTidy(scene);
  });

  test('is stopped while a rule is being worked out, and its last step stays', async () => {
    const when = `$match('${'a'.repeat(40)}!', /^(a+)+$/)`;
    const rules = [
      { from: '__start__', to: 'one', when: null },
      { from: 'one', to: '__end__', when },
    ];
    const scene = createScene({
      '.uwf/workflows/slow.yaml': workflow('slow', { one: role('done') }, rules),
      '.uwf/config.yaml': config(['./agent']),
      agent: diligent,
    });
    const thread = await scene.startThread('slow');
    const running = scene.start(['thread', 'run', thread, '--json']);
    await until('the step is stored', () => scene.git('rev-list', '--count', `refs/threads/${thread}`) === '2');
    const stopped = await scene.uwf(['thread', 'stop', thread, '--json']);
    expect(stopped).toMatchObject({ code: 0, json: [{ wasRunning: true, isKilled: false }] });
    expect([4, 130]).toContain((await running.outcome).code);
    expect((await scene.uwf(['thread', 'run', thread])).code).toBe(4);
    expect(scene.lines('turns')).toEqual(['one']);
    expectTidy(scene);
  });

  test('is cancelled at any moment: it is over then, once, and everything that was said to be stored is there', async () => {
    const scene = createChainScene(diligent, ['a', 'b', 'c']);
    const codes: (number | null)[] = [];
    for (let round = 0; round < 8; round += 1) {
      const thread = await scene.startThread('chain');
      const running = scene.start(['thread', 'run', thread, '--json']);
      await sleep(round * 60);
      const cancelled = await scene.uwf(['thread', 'cancel', thread, '--json']);
      const { json, code } = await running.outcome;
      // 0: it ended first; 130: it was stopped; 2 for the cancel: there was nothing left to cancel.
      expect({ cancel: cancelled.code, run: code, stderr: cancelled.stderr }).toEqual({
        cancel: expect.toBeOneOf([0, 2, 5]),
        run: expect.toBeOneOf([0, 5, 130]),
        stderr: expect.anything(),
      });
      codes.push(cancelled.code);
      if (cancelled.code === 5) await scene.uwf(['thread', 'cancel', thread]);
      expect(scene.git('for-each-ref', 'refs/threads')).toBe('');
      const commits = scene.git('rev-list', `refs/history/${historyOf(scene, thread)}`).split('\n');
      const stored = json.filter(({ event }) => event === 'step.finished').map(({ head }) => head);
      expect(commits).toEqual(expect.arrayContaining(stored));
    }
    expect(codes).toContain(0);
    expectTidy(scene);
  }, 180_000);
});

/** `<date>/<id>` of a thread that is over; fails if it is not over exactly once. */
function historyOf(scene: Scene, thread: string): string {
  const names = scene.git('for-each-ref', '--format=%(refname:lstrip=2)', `refs/history/*/${thread}`).split('\n');
  expect(names).toEqual([expect.stringContaining(thread)]);
  return names[0] ?? '';
}
