import { describe, expect, test } from 'vitest';
import type { ChildOutcome } from '../../../src/agent/contract.ts';
import { runChild } from '../../../src/engine/children/child-threads.ts';
import { createEngineContext } from '../../../src/engine/engine-context.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { openRepository } from '../../../src/git/open-repository.ts';
import { findThread, getThread } from '../../../src/thread/find-thread.ts';
import { forkThread } from '../../../src/thread/thread-verbs.ts';
import { callIdFor } from '../../../src/thread/new-thread-id.ts';
import { committedAt, readState, stateCommit, type ThreadState } from '../../../src/thread/thread-state.ts';
import { installCallingAgent, type CallingTry, type Called } from '../../helpers/calling-agent.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { plotOf, type PlotOptions, type Turn } from '../../helpers/plot.ts';
import { scenario, statuses, type Scenario } from '../../helpers/scenario.ts';

const worker = plotOf({ flow: 'work > end', definition: { name: 'worker' } }).definition;

const task = (prompt: string, key?: string): Called => ({
  workflow: 'worker',
  prompt,
  ...(key !== undefined && { key }),
});
const six: Called[][] = [[task('a')], [task('b')], [task('a')], [task('c'), task('d', 'own'), task('a')]];
const ends = '---\n$status: done\n---\nDone.';

type Calls = Scenario & { at: (tries: CallingTry[], work?: Turn[]) => Engine };

/** A thread whose one role calls children; `at` gives an engine whose agent makes other calls. */
async function createCalls(tries: CallingTry[], work: Turn[] = [ends]): Promise<Calls> {
  const plotWith = (now: CallingTry[], says = work): PlotOptions => ({
    flow: 'caller > end',
    agents: { caller: { package: 'calling-agent', config: { tries: now } }, work: says },
    roles: { caller: statuses('done') },
  });
  const scene = await scenario({ ...plotWith(tries), others: [worker], prompt: null });
  installCallingAgent(scene.dir);
  await scene.start('Call them.');
  return Object.assign(scene, {
    at: (now: CallingTry[], says?: Turn[]) => scene.beside({ config: plotOf(plotWith(now, says)).config }),
  });
}

/** Takes the thread back to where it began, as a crash before its step was stored would have left it. */
function backToStart({ git, thread }: Calls, head: string): void {
  git('update-ref', `refs/threads/${thread}`, `${head}^^`);
  git('update-ref', '-d', git('for-each-ref', '--format=%(refname)', `--points-at=${head}`));
}

const paid = (calls: Calls): number => calls.told('step.started').filter(({ role }) => role === 'work').length;

async function stateOf({ repository }: Calls, thread: string): Promise<ThreadState> {
  const { id, head } = await getThread(repository, thread);
  return readState(repository, id, head);
}

describe('several children in one turn', () => {
  test('each call has its own, one after another and at once, and the step takes in all of them', async () => {
    const calls = await createCalls([{ calls: six }]);
    const over = await calls.run();
    expect(over.text.split('\n').map((line) => line.slice(0, 1))).toEqual(['a', 'b', 'a', 'c', 'd', 'a', '']);
    expect(paid(calls)).toBe(6);
    const view = await calls.view();
    expect(new Set(view.children).size).toBe(6);
    expect(view.calls.map(({ status, isLeft }) => ({ status, isLeft }))).toEqual(
      Array.from({ length: 6 }, () => ({ status: 'ended', isLeft: false })),
    );
    expect(calls.git('rev-list', '--parents', '-1', `${over.head}^`).split(' ')).toHaveLength(8);
    expectCleanFsck(calls.dir);
  });

  test('are found again in any order after a crash, and none is paid twice', async () => {
    const calls = await createCalls([{ calls: six }]);
    const { head } = await calls.run();
    const before = (await calls.view()).children;
    backToStart(calls, head);
    const shuffled = [[task('a'), task('c')], [task('d', 'own')], [task('a'), task('b'), task('a')]];
    await calls.at([{ calls: shuffled }]).run(calls.thread);
    expect(paid(calls)).toBe(6);
    expect((await calls.view()).children.toSorted()).toEqual(before.toSorted());
  });

  test('are found again in a later try of the turn', async () => {
    const calls = await createCalls([{ calls: six, isBad: true }, { calls: six.toReversed() }]);
    await calls.run();
    expect(paid(calls)).toBe(6);
    expect((await calls.view()).calls.filter(({ step }) => step !== null)).toHaveLength(6);
  });

  test('of one key are one, and a key of another task is refused', async () => {
    const calls = await createCalls([{ calls: [[task('a', 'k'), task('a', 'k')], [task('a', 'k')]] }]);
    await calls.run();
    expect(paid(calls)).toBe(1);
    const twice = await createCalls([{ calls: [[task('a', 'k')], [task('b', 'k')]] }]);
    expect((await twice.run()).text).toMatch(/the key 'k' belongs to child thread/);
    const atOnce = await createCalls([{ calls: [[task('a', 'k'), task('b', 'k')]] }]);
    expect((await atOnce.run()).text).toMatch(/the key 'k' belongs to child thread/);
  });

  test('that nobody asks for again are told and shown, and left as they are', async () => {
    const asks = [{ suspend: 'Which?', reply: ends }];
    const calls = await createCalls([{ calls: [[task('a')]] }], asks);
    await calls.run();
    const [left] = (await calls.view()).calls;
    calls.git('update-ref', `refs/threads/${calls.thread}`, `refs/threads/${calls.thread}^`);
    const over = await calls.at([{ calls: [[task('b')]] }], [ends]).run(calls.thread);
    expect(over.event).toBe('thread.ended');
    expect(calls.told('child.left')).toMatchObject([
      { thread: calls.thread, child: left!.thread, status: 'suspended' },
    ]);
    const views = (await calls.view()).calls;
    expect(views.map(({ status, isLeft }) => ({ status, isLeft }))).toEqual([
      { status: 'ended', isLeft: false },
      { status: 'suspended', isLeft: true },
    ]);
  });

  test('that an agent does not wait for end with its turn, and are told', async () => {
    const slow = [{ delayMs: 60_000, reply: ends }];
    const calls = await createCalls([{ calls: [], loose: [task('slow')] }], slow);
    expect(await calls.run()).toMatchObject({ event: 'thread.ended' });
    expect(calls.told('child.left')).toHaveLength(1);
    expect((await calls.view()).calls).toMatchObject([{ status: 'idle', isLeft: true }]);
  });

  test('belong to the step that names them, if they ended in an earlier try', async () => {
    const calls = await createCalls([
      { calls: [[task('a')]], isBad: true },
      { calls: [[task('b')]], names: 'earlier' },
    ]);
    await calls.run();
    const { calls: views } = await calls.view();
    expect(views.map(({ isLeft }) => isLeft)).toEqual([false, false]);
    expect(calls.told('child.left')).toEqual([]);
  });

  test('that ask are answered one by one, and those that ended are not paid again', async () => {
    const asks = [{ suspend: 'Which?', reply: '---\n$status: done\n---\nWent {{ answer }}.' }];
    const calls = await createCalls([{ calls: [[task('a'), task('b')]] }], asks);
    expect((await calls.run()).event).toBe('thread.suspended');
    const first = await calls.view();
    expect(first).toMatchObject({ reason: 'Which?', waitsFor: first.calls[0]!.thread });
    const second = await calls.resume('left');
    expect(second).toMatchObject({ event: 'thread.suspended', thread: calls.thread, text: 'Which?' });
    expect((await calls.view()).waitsFor).toBe(first.calls[1]!.thread);
    // The other one is answered by itself, and the thread goes on with it.
    await calls.engine.resume(first.calls[1]!.thread, { answer: 'right' });
    const view = await calls.view();
    expect(view.status).toBe('ended');
    expect(view.reason).toContain('a -> Went left.');
    expect(view.reason).toContain('b -> Went right.');
    // Each took a turn that asked and one that was answered; the caller's own two.
    expect(paid(calls)).toBe(4);
  });
});

describe('the child of a call', () => {
  test('is none of a fork, which calls one of its own', async () => {
    const calls = await createCalls([{ calls: [[task('a')]] }]);
    const { repository, engine } = calls;
    const fork = await forkThread(repository, await getThread(repository, calls.thread));
    await engine.run(calls.thread);
    await engine.run(fork.thread);
    const one = await engine.describe(calls.thread);
    const other = await engine.describe(fork.thread);
    expect(paid(calls)).toBe(2);
    expect([one.children, other.children].map((list) => list.length)).toEqual([1, 1]);
    expect(one.children).not.toEqual(other.children);
    expect((await engine.describe(other.children[0]!)).parent).toBe(fork.thread);
  });

  test('that asks is not of a fork, whose answer nothing would hear: it is refused, and a turn without one calls again', async () => {
    const asks = [{ suspend: 'Which?', reply: '---\n$status: done\n---\nWent {{ answer }}.' }];
    const { engine, repository, thread } = await createCalls([{ calls: [[task('a')]] }], asks);
    await engine.run(thread);
    const fork = await forkThread(repository, await getThread(repository, thread));
    await expect(engine.resume(fork.thread, { answer: 'left' })).rejects.toMatchObject({
      code: 'wrong-thread-state',
      message: expect.stringContaining('no child thread of it waits for an answer here'),
    });
    expect((await engine.describe(fork.thread)).head).toBe(fork.head);
    expect(await engine.resume(fork.thread)).toMatchObject({ event: 'thread.suspended', text: 'Which?' });
    expect((await engine.describe(fork.thread)).waitsFor).not.toBe((await engine.describe(thread)).waitsFor);
    expect(await engine.resume(fork.thread, { answer: 'left' })).toMatchObject({ event: 'thread.ended' });
  });

  test('is paid by one of two processes that call at once', async () => {
    const calls = await createCalls([{}]);
    const state = await stateOf(calls, calls.thread);
    const call = { thread: state.id, state: committedAt(stateCommit(state)), role: 'caller', key: 'k', ordinal: 0 };
    const request = { call, isOwnKey: true, ...task('a'), signal: new AbortController().signal };
    const { config } = plotOf({ agents: { work: [{ delayMs: 600_000, reply: ends }] } });
    const stop = new AbortController();
    let tellAtWork = (): void => {};
    const atWork = new Promise<void>((resolve) => (tellAtWork = resolve));
    const begin = async (): Promise<ChildOutcome> => {
      const onEvent = (event: EngineEvent): void => {
        calls.events.push(event);
        if (event.event === 'step.started') tellAtWork();
      };
      const repository = await openRepository(calls.dir);
      const resolveWorkflow = (): Promise<typeof worker> => Promise.resolve(worker);
      const options = { repository, config, onEvent, resolveWorkflow, signal: stop.signal };
      return (await runChild(createEngineContext(options, runChild), state, request)).outcome;
    };
    const first = begin();
    await atWork;
    expect(await begin()).toMatchObject({ kind: 'suspended', reason: 'another process runs the child thread' });
    stop.abort();
    await expect(first).rejects.toMatchObject({ code: 'interrupted' });
    expect(paid(calls)).toBe(1);
  });

  test('is no thread that only has its id', async () => {
    const calls = await createCalls([{ calls: [[task('a', 'k')]] }]);
    const state = await stateOf(calls, calls.thread);
    const call = { thread: state.id, state: committedAt(stateCommit(state)), role: 'caller', key: 'k', ordinal: 0 };
    const id = callIdFor(call);
    calls.git('update-ref', `refs/threads/${id}`, state.head.id);
    expect(await calls.run()).toMatchObject({
      event: 'thread.suspended',
      text: expect.stringContaining("the key 'k' belongs to child thread"),
    });
    expect(paid(calls)).toBe(0);
    expect((await findThread(calls.repository, id))?.head).toBe(state.head.id);
  });
});
