import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { JsonObject } from '../../json.ts';
import type { Agent, AgentEvent, AgentPackage, AgentReply, AgentRequest } from '../contract.ts';
import { checkValue, extractReply } from '../extract/extract-reply.ts';
import { propertiesOf } from '../extract/schema-variants.ts';
import { eventFaults, replyFaults } from '../load/hold-to-contract.ts';
import { packageFaults } from '../load/load-agent-package.ts';
import { descendantsOf, isGroupAlive, runningProcesses } from '../processes/process-group.ts';

/**
 * Registers the tests that every agent has to pass, in a test file of vitest.
 *
 * That the package describes itself and refuses a wrong configuration; that a turn replies with what its role asks for,
 * tells what the contract knows, ends when it is told to, and leaves nothing behind. What the agent is good for, its
 * author tests beside it, with `agentRequest`.
 * @param name the agent, for the report: `uwf-agent-mine`
 */
export function describeAgent(name: string, contract: AgentContract): void {
  describe(`${name} keeps the contract of agents`, () => {
    describePackage(contract);
    describeTurns(contract);
  });
}

/** Names of what could be a secret; `maxTokens` is a count. */
const SECRET = /(?:token|(?:key|secret|password|passphrase|credential)s?)$/iu;

/** What uwf sees of a package before an agent takes any turn. */
function describePackage(contract: AgentContract): void {
  const { package: agentPackage, config, refusedConfigs = [] } = contract;
  describe('the package', { timeout: contract.timeoutMs ?? TIMEOUT_MS }, () => {
    const { packageDescriptor } = agentPackage;

    test('exports what makes agents', () => {
      expect(packageFaults({ ...agentPackage })).toEqual([]);
    });

    test('has a version that is one', async () => {
      const { default: valid } = await import('semver/functions/valid.js');
      expect(valid(packageDescriptor.version), `${packageDescriptor.version} as a semantic version`).not.toBeNull();
    });

    test('has a configSchema that is a JSON Schema (2020-12), complete in itself', async () => {
      const { assertSchema } = await import('../../schema/validate-against.ts');
      await expect(assertSchema(packageDescriptor.configSchema)).resolves.toBeUndefined();
    });

    test('describes every property of its configuration', () => {
      const silent = propertiesOf(packageDescriptor.configSchema).filter(([, { description }]) => !description);
      expect(silent.map(([name]) => name)).toEqual([]);
    });

    test('accepts its configuration', async () => {
      expect(await checkValue(packageDescriptor.configSchema, config, 'config')).toEqual([]);
    });

    test('refuses a key that it does not know, by its name', async () => {
      const mistakes = await checkValue(packageDescriptor.configSchema, { ...config, mistyped: 1 }, 'config');
      expect(mistakes.join('; ')).toContain('mistyped');
    });

    test.each(refusedConfigs.map((refused) => ({ refused })))(
      'refuses the configuration $refused',
      async ({ refused }) => {
        expect(await checkValue(packageDescriptor.configSchema, refused, 'config')).not.toEqual([]);
      },
    );

    test('has nothing stored with a thread that could be a secret', () => {
      const recorded = propertiesOf(packageDescriptor.configSchema).filter(([, schema]) => schema['x-uwf-record']);
      expect(recorded.map(([name]) => name).filter((name) => SECRET.test(name))).toEqual([]);
    });
  });
}

/** How long one test may take where the author says nothing, in ms: a busy machine takes ten times as long. */
const TIMEOUT_MS = 60_000;

/** A turn that an agent is asked for in a test. */
export type AgentTurn = {
  /** The configuration of this turn's agent, where it is another one than the contract's. */
  config?: JsonObject;
  /** What the request says otherwise than {@link agentRequest}: `prompt`, `outputSchema`, `answer` … */
  request?: Partial<AgentRequest>;
  /**
   * Gets ready what the turn needs, such as files in `request.cwd`; called before each turn. What it returns changes the
   * request once more.
   */
  prepare?: (request: AgentRequest) => Partial<AgentRequest> | void | Promise<Partial<AgentRequest> | void>;
};

/** What an agent is held to, told by its author. */
export type AgentContract = {
  /** The module that is the package: `import * as agentPackage from './index.js'`. */
  package: AgentPackage;
  /** A configuration that `configSchema` accepts; that of the turns, unless they have their own. */
  config: JsonObject;
  /** Configurations that `configSchema` has to refuse, beside the one with an unknown key that is always tried. */
  refusedConfigs?: readonly JsonObject[];
  /** A turn that ends with a reply; `reply` is what has to be in it. It is taken several times. */
  replies: AgentTurn & { reply?: Partial<Extract<AgentReply, { kind: 'reply' }>> };
  /**
   * A turn that does not end by itself, or not for a minute: a program that hangs, a server that does not answer. Without
   * it only the turn that replies is aborted, which tells little of an agent that waits for anything.
   */
  hangs?: AgentTurn;
  /** How long the turns of one test may take together; 60,000 by default. */
  timeoutMs?: number;
};

/** A request to an agent in a test, and what the agent told meanwhile. */
export type ObservedRequest = AgentRequest & { readonly events: AgentEvent[] };

/**
 * Makes a request for a turn as the engine makes it, for use in a test.
 *
 * The turn works in an empty folder (`cwd`) and has another for itself (`stepDir`), both removed when the test is over. Of
 * the environment it has `PATH` alone; its store is in memory; nothing was said in the
 * thread, no person is at the terminal, and child threads are refused.
 * @param changes what is to be otherwise, as `outputSchema`, `prompt` or `env`
 */
export function agentRequest(changes: Partial<AgentRequest> = {}): ObservedRequest {
  const events: AgentEvent[] = [];
  const folder = temporaryFolder();
  const [cwd, stepDir] = [join(folder, 'work'), join(folder, 'step')];
  for (const part of [cwd, stepDir]) mkdirSync(part);
  return {
    threadId: '01JD0000000000000000000000',
    role: 'worker',
    prompt: 'Do the work.\n',
    promptWithoutSession: 'Do the work.\n',
    task: 'Do the work.',
    edgePrompt: undefined,
    cwd,
    stepDir,
    outputSchema: { type: 'object' },
    attempt: 0,
    visit: 0,
    session: undefined,
    answer: undefined,
    env: { PATH: process.env['PATH'] ?? '', UWF_ROLE: 'worker', UWF_STEP_DIR: stepDir },
    signal: new AbortController().signal,
    emit: (event) => events.push(event),
    cas: memoryCas(),
    readThread: () => Promise.resolve([]),
    runChild: () => Promise.reject(new Error('this request has no child')),
    askPerson: undefined,
    ...changes,
    events,
  };
}

/** An empty folder, removed when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'uwf-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function memoryCas(): AgentRequest['cas'] {
  const texts: string[] = [];
  const hashOf = (index: number): string => `HASH${String(index).padStart(9, '0')}`;
  return {
    put: (text) => {
      const known = texts.indexOf(text);
      return Promise.resolve(hashOf(known === -1 ? texts.push(text) - 1 : known));
    },
    get: (hash) => Promise.resolve(texts.find((_, index) => hashOf(index) === hash)),
    list: () => Promise.resolve(texts.map((_, index) => hashOf(index))),
  };
}

type ReadyTurn = { run: Agent['run']; request: ObservedRequest; close: () => Promise<void> };

/** Makes the agent of a turn and its request, and prepares what the turn needs; the agent is closed with the test. */
export async function readyTurn(
  { package: agentPackage, config }: AgentContract,
  turn: AgentTurn,
  more: Partial<AgentRequest> = {},
): Promise<ReadyTurn> {
  const request = agentRequest({ ...turn.request, ...more });
  Object.assign(request, await turn.prepare?.(request));
  // What one agent does to its configuration must not be seen by the next.
  const agent = await agentPackage.createAgent(structuredClone(turn.config ?? config));
  // To the engine it is all the same whether an agent throws or rejects.
  const run = async (request: AgentRequest): Promise<AgentReply> => agent.run(request);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= agent.close?.() ?? Promise.resolve());
  onTestFinished(close);
  return { run, request, close };
}

/** Takes a turn to its end: the agent is closed, as the engine does it. */
export async function finishTurn({ run, request, close }: ReadyTurn): Promise<AgentReply> {
  const reply = await run(request);
  await close();
  return reply;
}

/** Long enough for a program to start and to be seen. */
const RUNNING_MS = 200;
/** For what comes too late to have come. */
const LATE_MS = 50;
const STOPPED_WITHIN_MS = 10_000;
/** A process that was killed has closed its pipes a moment before the system lists it as ended. */
const ENDING = { timeout: 1_000 };

/** Tests what the engine expects of every agent. */
function describeTurns(contract: AgentContract): void {
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
