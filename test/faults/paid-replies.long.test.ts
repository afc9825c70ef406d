import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Config } from '../../src/engine/config/config.ts';
import { readingContext, type EngineOptions } from '../../src/engine/engine-context.ts';
import { createEngine, type Engine } from '../../src/engine/engine.ts';
import type { EngineEvent, ThreadOver } from '../../src/engine/events.ts';
import type { Repository } from '../../src/git/repository.ts';
import { createRedactor } from '../../src/redaction/create-redactor.ts';
import { RedactionFailed, type Redactor } from '../../src/redaction/redactor.ts';
import { addUsage, type Usage } from '../../src/schema/built-in/schema-parts.ts';
import { verifyThreads } from '../../src/verify/verify-threads.ts';
import { validateWorkflow } from '../../src/workflow/check/validate-workflow.ts';
import type { WorkflowDefinition } from '../../src/workflow/definition.ts';
import { prepareHashing } from '../../src/cas/hash.ts';
import { startModelServer, type ModelRequest, type ModelServer, type ScriptedAnswer } from '../helpers/model-server.ts';
import { ReplyNotStored } from '../../src/engine/recovery/pending-turn.ts';
import { machineKey } from '../../src/cli/open/open-repository.ts';
import { asStorageError } from '../../src/git/format/errors.ts';
import { createTemporaryRepository, expectCleanFsck } from '../helpers/temporary-repository.ts';
import { config as configFile, createScene, type Scene } from './scene.ts';

/** How many turns are taken with a fault; a campaign by hand takes more. A seed gives the same faults, and not the same moments. */
const TURNS = Number(process.env['SUITE_PAID_TURNS'] ?? 20);
const SEED = Number(process.env['SUITE_PAID_SEED'] ?? 1);
/** So many of ten turns are taken by a process of their own, which dies of its fault. */
const PROCESSES_OF_TEN = 3;

/** What an answer of the model is said to cost: in thousands of tokens one can count answers. */
const ANSWER = { prompt_tokens: 1000, completion_tokens: 100 };
const PRICE = { inputPerMTok: 100, outputPerMTok: 1000 };
const COST = 0.2;

/** Numbers that look random, the same for a seed: Mulberry32. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** A task's number, which is in its prompt, and so in every request that it leads to. */
function taskOf({ messages }: ModelRequest): number {
  return Number(/Task (\d+)/u.exec(JSON.stringify(messages))?.[1]);
}

/** A model that reads a file, and then answers: of every fifth task first in a way that is not accepted. */
function script(request: ModelRequest, index: number): ScriptedAnswer {
  const said = request.messages.map(({ role, content }) => `${role} ${JSON.stringify(content)}`);
  const hasRead = said.at(-1)?.startsWith('tool') === true || said.some((line) => line.includes('not accepted'));
  if (!hasRead) return { calls: [{ name: 'read_file', arguments: { path: 'notes' } }], usage: ANSWER };
  const isRefused = taskOf(request) % 5 === 0 && !said.some((line) => line.includes('not accepted'));
  const status = isRefused ? 'perhaps' : 'done';
  return { text: `---\n$status: ${status}\nlist: ${'ab,'.repeat(20)}\n---\nAnswer ${index}.\n`, usage: ANSWER };
}

/** What a turn of one thread is to survive. */
type Fault =
  | { kind: 'throws' | 'code'; at: number; times: number; code?: string }
  | { kind: 'dies'; at: number }
  | { kind: 'stops'; at: number }
  | { kind: 'redaction'; at: number; isKnown: boolean }
  | { kind: 'pattern' | 'check' | 'rule' | 'snapshot' }
  | { kind: 'kill' | 'disk'; at: number }
  | { kind: 'signal'; signal: 'SIGKILL' | 'SIGINT'; at: number };

const schema = {
  type: 'object',
  properties: { $status: { enum: ['done'] }, list: { type: 'string' } },
  required: ['$status'],
};
const slowPattern = '^(([a-z],?)+)+;$';

async function definitionFor({ kind }: Fault, isBlock: boolean): Promise<WorkflowDefinition> {
  const worker = {
    schema:
      kind === 'pattern'
        ? { ...schema, properties: { ...schema.properties, list: { type: 'string', pattern: slowPattern } } }
        : schema,
    ...(kind === 'check' && { check: [{ expression: '($f := function($n) { $f($n + 1) }; $f(0))', message: 'no' }] }),
  };
  const two = { branches: { a: { role: 'worker' }, b: { role: 'worker' } }, join: 'all' };
  const { definition, diagnostics } = await validateWorkflow({
    name: 'paid',
    roles: { worker },
    ...(isBlock && { blocks: { both: { isolation: 'shared', ...two } } }),
    moderator: [
      { from: '__start__', to: isBlock ? 'both' : 'worker', when: null },
      { from: isBlock ? 'both' : 'worker', to: '__end__', when: null },
    ],
  });
  if (definition === undefined) throw new Error(JSON.stringify(diagnostics));
  return definition;
}

/** What the campaign works on: one repository, whose threads are run here or by processes of their own. */
type Lab = {
  scene: Scene;
  repository: Repository;
  server: ModelServer;
  config: Config;
  sealKey: () => Uint8Array;
  env: Record<string, string>;
};

async function createLab(server: ModelServer): Promise<Lab> {
  await prepareHashing();
  const temporary = createTemporaryRepository();
  const agent = {
    package: 'builtin:llm',
    price: PRICE,
    config: { baseUrl: server.url, model: 'm', tools: ['read_file'], retry: { maxRetries: 0 } },
  };
  const agents = { model: agent };
  const files = { '.uwf/config.yaml': configFile([], { agents, defaultAgent: 'model' }), notes: 'Notes.\n' };
  const scene = createScene(files, temporary);
  const repository = await temporary.open();
  const { state } = scene;
  return {
    scene,
    repository,
    server,
    config: { agents: { model: { name: 'model', ...agent } }, defaultAgent: 'model', roles: {} },
    sealKey: () => machineKey({ XDG_STATE_HOME: state }, 'kept.key'),
    env: { XDG_STATE_HOME: state },
  };
}

function engineIn({ repository, config, sealKey, scene }: Lab, more: Partial<EngineOptions> = {}): Engine {
  const env = { PATH: process.env['PATH'] };
  return createEngine({ repository, config, sealKey, env, cwd: scene.dir, ...more });
}

/** The answers that a task has been given to the end. */
function answersTo({ server }: Lab, task: number): { index: number; isFinal: boolean; isGood: boolean }[] {
  return server.requests.flatMap((request, index) => {
    if (taskOf(request) !== task || !server.answered.has(request)) return [];
    const answer = script(request, index);
    const text = ('text' in answer && answer.text) || '';
    return [{ index, isFinal: text !== '', isGood: text.includes('$status: done') }];
  });
}

/** The repository, in which the fault happens at a call once a reply to the task is there. */
function faulty(lab: Lab, task: number, fault: Fault, onDeath: () => void): Repository {
  if (fault.kind !== 'throws' && fault.kind !== 'code' && fault.kind !== 'dies') return lab.repository;
  let calls = 0;
  const broken = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (!answersTo(lab, task).some(({ isFinal }) => isFinal)) return Reflect.apply(value, target, args);
          calls += 1;
          const isAtFault = calls >= fault.at && (fault.kind === 'dies' || calls < fault.at + fault.times);
          if (!isAtFault) return Reflect.apply(value, target, args);
          if (fault.kind === 'throws') throw new TypeError(`injected in ${String(name)}`);
          if (fault.kind === 'code')
            throw asStorageError(Object.assign(new Error('injected'), { code: fault.code }), 'x');
          const result: unknown = Reflect.apply(value, target, args);
          if (!(result instanceof Promise)) return result;
          onDeath();
          return new Promise(() => {});
        };
      },
    });
  return { ...lab.repository, objects: broken(lab.repository.objects), refs: broken(lab.repository.refs) };
}

/** A redactor that fails at a call once a reply is there, in a way that it knows or not. */
function faultyRedactor(lab: Lab, task: number, fault: Fault): Redactor | undefined {
  if (fault.kind === 'rule') {
    return createRedactor({ key: Buffer.alloc(32), known: [], rules: [{ name: 'slow', pattern: '(([a-z],?)+)+;' }] });
  }
  if (fault.kind !== 'redaction') return undefined;
  const sound = createRedactor({ key: Buffer.alloc(32), known: [] });
  let calls = 0;
  const check = (): void => {
    if (!answersTo(lab, task).some(({ isFinal }) => isFinal) || (calls += 1) !== fault.at) return;
    throw fault.isKnown ? new RedactionFailed('injected', 'none') : new TypeError('injected');
  };
  return {
    table: sound.table,
    redactText: (text, path) => (check(), sound.redactText(text, path)),
    redactValue: (value, keep) => (check(), sound.redactValue(value, keep)),
    openStream: () => sound.openStream(),
  };
}

/** Takes the turn here. @returns how often a process died */
async function takeHere(lab: Lab, thread: string, task: number, fault: Fault): Promise<number> {
  const stop = new AbortController();
  let events = 0;
  const onEvent = ({ event }: EngineEvent): void => {
    if (fault.kind === 'stops' && event.startsWith('agent.') && (events += 1) === fault.at) stop.abort(new Error('^C'));
  };
  let isDead: () => void = () => {};
  const death = new Promise<'dead'>((resolve) => (isDead = () => resolve('dead')));
  const redactor = faultyRedactor(lab, task, fault);
  const engine = engineIn(lab, {
    repository: faulty(lab, task, fault, isDead),
    onEvent,
    signal: stop.signal,
    ...(redactor && { redactor }),
    ...(fault.kind === 'snapshot' && { config: { ...lab.config, snapshot: { mode: 'on', timeoutMs: 1 } } }),
  });
  const running = engine.run(thread).then(
    () => 'over' as const,
    () => 'failed' as const,
  );
  if ((await Promise.race([running, death])) !== 'dead') return 0;
  // A process that has died renews no lease.
  for (const id of [thread, ...(await engineIn(lab).describe(thread)).children]) {
    rmSync(join(lab.scene.gitDir, 'uwf', 'leases', `${id}.json`), { force: true });
  }
  return 1;
}

const preload = `--require ${join(import.meta.dirname, 'faulty-fs-preload.cjs')}`;

/** Takes the turn in a process of its own. */
async function takeThere(
  lab: Lab,
  thread: string,
  task: number,
  fault: Fault,
): Promise<{ deaths: number; printed: string }> {
  const words = ['thread', 'run', thread, '--json'];
  if (fault.kind === 'kill' || fault.kind === 'disk') {
    const what = fault.kind === 'kill' ? 'kill' : 'ENOSPC';
    const env = { ...lab.env, NODE_OPTIONS: preload, UWF_FAULT: what, UWF_FAULT_AT: String(fault.at) };
    const { signal, stderr } = await lab.scene.uwf(words, { env });
    return { deaths: signal === 'SIGKILL' ? 1 : 0, printed: fault.kind === 'disk' ? stderr : '' };
  }
  if (fault.kind !== 'signal') throw new Error(`no process has the fault '${fault.kind}'`);
  const running = lab.scene.start(words, { env: lab.env });
  const isDue = (): boolean => {
    const seen = lab.server.requests.filter((request) => taskOf(request) === task);
    const answered = seen.filter((request) => lab.server.answered.has(request));
    return seen.length + answered.length >= fault.at;
  };
  const over = new AbortController();
  void running.outcome.then(() => over.abort());
  while (!over.signal.aborted && !isDue()) await sleep(1);
  running.process.kill(fault.signal);
  const { signal } = await running.outcome;
  return { deaths: signal === 'SIGKILL' ? 1 : 0, printed: '' };
}

/** Lets a thread go on to its end, as a person does who looks at what is asked. @returns how often a role was to run again */
async function goOn(lab: Lab, thread: string, fault: Fault): Promise<number> {
  const engine = engineIn(lab);
  let again = 0;
  let over: ThreadOver | undefined;
  for (let times = 0; times < 8; times += 1) {
    try {
      over = over?.event === 'thread.suspended' ? await engine.resume(thread) : await engine.run(thread);
    } catch (error) {
      // A person lets what could not be searched go, as the message says: in the thread that it names.
      const [cause, where] = error instanceof ReplyNotStored ? [error.cause, error.thread] : [error, thread];
      if (!(cause instanceof RedactionFailed)) throw error;
      const allowed = await engine.run(where, { allowSecrets: true });
      over = where === thread ? allowed : await engine.run(thread);
    }
    if (over.event !== 'thread.suspended') return again;
    again += 1;
    if (fault.kind === 'pattern' || fault.kind === 'check') break;
  }
  await engine.cancel(thread, { reason: 'nothing helps' });
  return again;
}

/** The thread and those that it called. */
async function familyOf(lab: Lab, thread: string): Promise<string[]> {
  const { children } = await engineIn(lab).describe(thread);
  return [thread, ...children];
}

/** Holds what a thread has against what the model's server knows. */
async function settle(
  lab: Lab,
  { thread, task, fault, workers }: { thread: string; task: number; fault: Fault; workers: number },
  { deaths, printed, again }: { deaths: number; printed: string; again: number },
): Promise<{ lost: number; isAtLeast: boolean }> {
  const family = await familyOf(lab, thread);
  let usage: Usage | null = null;
  for (const id of family) usage = addUsage(usage, (await engineIn(lab).describe(id)).usage);
  const ends = family.map((id) => lab.scene.git('for-each-ref', '--format=%(objectname)', `refs/history/*/${id}`));
  const commits = ends.flatMap((end) => lab.scene.git('log', '--format=%H', '--first-parent', end).split('\n'));
  const stored = new Set(await grepAnswers(lab.scene, commits));
  const answers = answersTo(lab, task);
  const good = answers.filter(({ isGood }) => isGood);
  const lost = good.filter(({ index }) => !stored.has(index) && !printed.includes(`Answer ${index}.`));
  const booked = (usage?.inputTokens ?? 0) / 1000;
  const told = { task, fault, deaths, again, sent: answers.length, good: good.length, booked, usage, lost };
  const isFull = fault.kind === 'disk';
  // Every reply that had arrived has a place; a process that dies, or is told to stop, may lose one of each role on its way in.
  const isStopped = fault.kind === 'stops' || (fault.kind === 'signal' && fault.signal === 'SIGINT');
  const onTheirWay = (deaths + Number(isStopped)) * workers;
  expect(lost.length, JSON.stringify(told)).toBeLessThanOrEqual(onTheirWay);
  // None is paid twice: a role that has replied runs again only where a person asked for it, or nothing could be kept.
  const twice = good.length - lost.length - workers * (1 + again) - (isFull ? workers : 0);
  expect(twice, JSON.stringify(told)).toBeLessThanOrEqual(0);
  // What was reported is in the books, once.
  expect(booked, JSON.stringify(told)).toBeLessThanOrEqual(answers.length);
  const unknown = answers.length - booked;
  if (!isFull) expect(unknown, JSON.stringify(told)).toBeLessThanOrEqual(onTheirWay);
  // What was not reported, or was cut off, is at least told of.
  const cut = lab.server.requests.filter((request) => taskOf(request) === task && !lab.server.answered.has(request));
  if (unknown + cut.length > 0 && !isFull) expect(usage?.isAtLeast, JSON.stringify(told)).toBe(true);
  if (deaths === 0 && cut.length === 0 && !isStopped && !isFull) {
    expect(usage, JSON.stringify(told)).toMatchObject({ inputTokens: answers.length * 1000, turns: answers.length });
    expect(usage?.costUsd).toBeCloseTo(answers.length * COST, 6);
    expect(usage?.isAtLeast, JSON.stringify(told)).toBeUndefined();
  }
  return { lost: lost.length, isAtLeast: usage?.isAtLeast === true };
}

/** The numbers of the answers in what steps, suspensions and attempts say. */
async function grepAnswers({ git }: Scene, commits: readonly string[]): Promise<number[]> {
  const found: number[] = [];
  for (const commit of commits) {
    const files = git('ls-tree', '-r', '--name-only', commit)
      .split('\n')
      .filter((name) => /(^|\/)output\.md$/u.test(name));
    for (const name of files.filter((one) => !one.startsWith('trace/'))) {
      const [, index] = /Answer (\d+)\./u.exec(git('show', `${commit}:${name}`)) ?? [];
      if (index !== undefined) found.push(Number(index));
    }
  }
  return found;
}

function chooseFault(random: (below: number) => number, isThere: boolean): Fault {
  const among = <T>(all: readonly T[]): T => all[random(all.length)]!;
  if (isThere) {
    return among<() => Fault>([
      () => ({ kind: 'kill', at: 5 + random(140) }),
      () => ({ kind: 'kill', at: 5 + random(140) }),
      () => ({ kind: 'disk', at: 5 + random(110) }),
      () => ({ kind: 'signal', signal: 'SIGKILL', at: 1 + random(5) }),
      () => ({ kind: 'signal', signal: 'SIGINT', at: 1 + random(5) }),
    ])();
  }
  return among<() => Fault>([
    () => ({ kind: 'throws', at: 1 + random(50), times: among([1, 1, 3, 1000]) }),
    () => ({ kind: 'throws', at: 1 + random(50), times: among([1, 1, 3, 1000]) }),
    () => ({
      kind: 'code',
      at: 1 + random(50),
      times: among([1, 3, 1000]),
      code: among(['ENOSPC', 'EIO', 'EMFILE', 'EROFS']),
    }),
    () => ({ kind: 'dies', at: 1 + random(50) }),
    () => ({ kind: 'dies', at: 1 + random(50) }),
    () => ({ kind: 'stops', at: 1 + random(14) }),
    () => ({ kind: 'redaction', at: 1 + random(30), isKnown: random(2) === 0 }),
    () => ({ kind: random(6) > 0 ? 'snapshot' : among(['pattern', 'check', 'rule'] as const) }),
  ])();
}

test(`${TURNS} turns with faults between a reply and its step (seed ${SEED}): each reply has a place, none is paid twice, and what was reported is in the books`, async () => {
  const server = await startModelServer(script);
  const lab = await createLab(server);
  const random = randomFrom(SEED);
  const plan = Array.from({ length: TURNS }, (_, task) => {
    const isThere = random(10) < PROCESSES_OF_TEN;
    const fault = chooseFault(random, isThere);
    // What dies here stands still in one place alone: other branches of its block would go on.
    return { task: task + 1, isThere, isBlock: random(5) === 0 && fault.kind !== 'dies', fault };
  });
  const tally = new Map<string, number>();
  const count = (what: string, by = 1): unknown => tally.set(what, (tally.get(what) ?? 0) + by);
  const lane = async (): Promise<void> => {
    for (let next = plan.shift(); next !== undefined; next = plan.shift()) {
      const { task, isThere, isBlock, fault } = next;
      const definition = await definitionFor(fault, isBlock);
      const { thread } = await engineIn(lab).start({ definition, prompt: `Task ${task}.` });
      const taken = isThere
        ? await takeThere(lab, thread, task, fault)
        : { deaths: await takeHere(lab, thread, task, fault), printed: '' };
      const arrived = answersTo(lab, task).filter(({ isFinal }) => isFinal).length;
      const again = await goOn(lab, thread, fault);
      const workers = isBlock ? 2 : 1;
      const { lost, isAtLeast } = await settle(lab, { thread, task, fault, workers }, { ...taken, again });
      count(`turns: ${fault.kind}${fault.kind === 'signal' ? ` ${fault.signal}` : ''}`);
      count('replies there before the fault was over', arrived);
      count('processes that died', taken.deaths);
      count('replies on their way when their process died', lost);
      count('suspensions that a person resumed', again);
      count('threads of which a cost is not known', isAtLeast ? 1 : 0);
    }
  };
  await Promise.all([lane(), lane()]);
  count('answers of the model', server.answered.size);
  process.stdout.write(`${JSON.stringify(Object.fromEntries(tally), null, 2)}\n`);
  for await (const verdict of verifyThreads(readingContext(lab.repository))) {
    expect(verdict).toMatchObject({ findings: [] });
  }
  expectCleanFsck(lab.scene.dir);
  expect(lab.scene.git('for-each-ref', 'refs/threads')).toBe('');
}, 7_200_000);
