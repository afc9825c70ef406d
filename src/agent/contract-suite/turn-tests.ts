import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test, onTestFinished, vi } from 'vitest';

import { eventFaults, replyFaults } from '../load/contract-faults.ts';
import type { AgentEvent, AgentReply, AgentRequest } from '../contract.ts';
import { extractReply } from '../extract/extract-reply.ts';
import { isGroupAlive } from '../processes/process-group.ts';
import { runningProcesses, descendantsOf } from '../processes/process-table.ts';
import { TIMEOUT_MS, type AgentContract } from './agent-contract.ts';
import { readyTurn, finishTurn } from './take-turn.ts';

/** Long enough for a program to start and to be seen. */
const RUNNING_MS = 200;
/** For what comes too late to have come. */
const LATE_MS = 50;
const STOPPED_WITHIN_MS = 10_000;
/** A process that was killed has closed its pipes a moment before the system lists it as ended. */
const ENDING = { timeout: 1_000 };

/** Tests what the engine expects of every agent. */
export function describeTurns(contract: AgentContract): void {
  const { replies, hangs = replies } = contract;
  const isHanging = contract.hangs !== undefined;

  describe('a turn', { timeout: contract.timeoutMs ?? TIMEOUT_MS }, () => {
    test('ends with a reply that the role can be given', async () => {
      const turn = await readyTurn(contract, replies);
      const reply = await finishTurn(turn);
      await expectReply(reply, turn.request);
      if (replies.reply !== undefined) expect(reply).toMatchObject(replies.reply);
    });

    test('is tried again by the same agent where its reply was not accepted, or waits for a person', async () => {
      const { run, request, close } = await readyTurn(contract, replies);
      const first = await run(request);
      const session = 'session' in first ? first.session : undefined;
      const again = await run({ ...request, attempt: 1, session });
      await close();
      if (again.kind === 'suspend') expect(replyFaults(again)).toEqual([]);
      else await expectReply(again, request);
    });

    test('is taken beside others, each in its own folder', async () => {
      const turns = await Promise.all([1, 2, 3].map(() => readyTurn(contract, replies)));
      const taken = turns.map(async (turn) => ({ turn, reply: await finishTurn(turn) }));
      // All are over before the first that failed fails the test: none is to go on beside the next test.
      await Promise.allSettled(taken);
      for (const { turn, reply } of await Promise.all(taken)) await expectReply(reply, turn.request);
    });

    test('tells events as the contract has them, and none after its reply', async () => {
      const turn = await readyTurn(contract, replies);
      await finishTurn(turn);
      const { events } = turn.request;
      const count = events.length;
      await pause(LATE_MS);
      expect(events.slice(count), 'events after the reply').toEqual([]);
      expect(events.flatMap(eventFaults)).toEqual([]);
      expect(resultsWithoutCall(events), 'results of tools that were not called').toEqual([]);
    });

    test('leaves no process behind, and is not moved by a signal that comes too late', async () => {
      const controller = new AbortController();
      const host = watchHostProcess();
      const turn = await readyTurn(contract, replies, { signal: controller.signal });
      await finishTurn(turn);
      await expect.poll(() => host.startedSince(), { ...ENDING, message: 'processes that still run' }).toEqual([]);
      await expect.poll(() => livingGroups(turn.request.events), ENDING).toEqual([]);
      const count = turn.request.events.length;
      controller.abort(new Error('too late'));
      await pause(LATE_MS);
      expect(turn.request.events.slice(count)).toEqual([]);
    });

    test('prints nothing, and leaves the environment and the working directory of uwf as they are', async () => {
      const turn = await readyTurn(contract, replies);
      const host = watchHostProcess();
      await finishTurn(turn);
      expect(host.printed(), 'what was printed').toEqual([]);
      expect(host.changes(), 'what was changed').toEqual([]);
    });

    test('that was aborted before it began rejects with the reason and does nothing', async () => {
      const reason = new Error('not now');
      const { run, request } = await readyTurn(contract, replies, { signal: AbortSignal.abort(reason) });
      const host = watchHostProcess();
      await expect(run(request)).rejects.toBe(reason);
      expect(request.events).toEqual([]);
      expect(host.startedSince()).toEqual([]);
    });

    test('that is aborted rejects with the reason, and soon nothing of it runs', async () => {
      const controller = new AbortController();
      const { run, request, close } = await readyTurn(contract, hangs, { signal: controller.signal });
      const host = watchHostProcess();
      const end = run(request).then(
        (reply) => ({ reply }),
        (error: unknown) => ({ error }),
      );
      // A turn that does not hang is over soon, so that one is aborted at once.
      const early = isHanging ? await Promise.race([end, pause(RUNNING_MS)]) : undefined;
      expect(early, 'the end of a turn that was to hang').toBeUndefined();
      const started = host.startedSince();
      const reason = new Error('enough');
      controller.abort(reason);
      const late = pause(STOPPED_WITHIN_MS, { error: 'it still runs' }, { ref: false });
      const ended = await Promise.race([end, late]);
      await close();
      if (isHanging || 'error' in ended) expect(ended).toEqual({ error: reason });
      await expect.poll(() => livingGroups(request.events), ENDING).toEqual([]);
      await expect.poll(() => stillRunning(started), { ...ENDING, message: 'processes that still run' }).toEqual([]);
    });
  });
}

async function expectReply(reply: AgentReply, { outputSchema }: AgentRequest): Promise<void> {
  expect(replyFaults(reply)).toEqual([]);
  expect(reply).toHaveProperty('kind', 'reply');
  if (reply.kind !== 'reply') return;
  const extraction = await extractReply(reply.text, outputSchema, reply.meta);
  expect(extraction, 'its meta, held against the outputSchema').toHaveProperty('kind', 'ok');
}

function resultsWithoutCall(events: readonly AgentEvent[]): string[] {
  const called = new Set<string>();
  return events.flatMap((event) => {
    if (event.kind === 'tool-call') called.add(event.id);
    return event.kind === 'tool-result' && !called.has(event.id) ? [event.id] : [];
  });
}

/** Groups that the agent started and that still run. That of uwf itself would be one: stopping it would end uwf. */
function livingGroups(events: readonly AgentEvent[]): number[] {
  return events.flatMap((event) => (event.kind === 'process-group' && isGroupAlive(event.pgid) ? [event.pgid] : []));
}

function stillRunning(started: readonly { pid: number }[]): number[] {
  const running = new Set(runningProcesses()?.map(({ pid }) => pid));
  return started.map(({ pid }) => pid).filter((pid) => running.has(pid));
}

/** What a turn must leave as it is in the process that runs it, as it was when this was called. */
type HostProcess = {
  /** Processes that were started since and run now; empty where the system has no `/proc`. */
  startedSince(): { pid: number; group: number }[];
  /** Of the working directory and the environment, what has changed. */
  changes(): string[];
  /** What was printed. */
  printed(): string[];
};

/** Begins to watch this process, until the test is over. */
function watchHostProcess(): HostProcess {
  const before = new Set(descendantsOf(process.pid));
  const cwd = process.cwd();
  const environment = { ...process.env };
  const printed: string[] = [];
  const note = (...words: unknown[]): boolean => {
    printed.push(words.map(String).join(' '));
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(note),
    ...(['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation((...words: unknown[]) => void note(...words)),
    ),
  ];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  return {
    startedSince: () => {
      const ours = new Set(descendantsOf(process.pid).filter((pid) => !before.has(pid)));
      return (runningProcesses() ?? []).filter(({ pid }) => ours.has(pid));
    },
    changes: () => {
      const names = new Set([...Object.keys(environment), ...Object.keys(process.env)]);
      const changed = [...names].filter((name) => environment[name] !== process.env[name]);
      return [...(process.cwd() === cwd ? [] : ['the working directory']), ...changed.toSorted()];
    },
    printed: () => printed,
  };
}
