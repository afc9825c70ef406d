import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Interface } from 'node:readline';

import type { JsonValue } from '../../json.ts';
import { assertPiped } from '../../git/process/run-git.ts';
import { orElse } from '../../or-else.ts';
import { packageRoot } from '../../git/system/process-identity.ts';
import { cpuTimeOf, type EvaluationTask } from './evaluate-here.ts';
import {
  growthSince,
  restoreError,
  toSend,
  type EvaluatorAnswer,
  type EvaluatorRequest,
} from './evaluator-protocol.ts';
import { evaluatorUnavailable, ExpressionTimeout, ExpressionTooLarge } from '../expression-errors.ts';
import type { Scope } from './scope.ts';

/** How much longer than its limit an evaluation may take before the child is killed, because it can no longer answer. */
const GRACE_MS = 500;
/** The most wall time of an evaluation, as a multiple of its limit, if other processes have the processors. */
const MAX_STRETCH = 10;
/** How long the child may take to start, or to read a scope. Long, because a busy machine is no fault of the expression. */
const START_TIMEOUT_MS = 10_000;
/** How often a late evaluation is checked. */
const LATE_POLL_MS = 200;
/** An idle child is ended after this time. */
const IDLE_MS = 30_000;
/** V8's heap in the child: for a small thread, and what is added for each MB of the thread's JSON. */
const HEAP_MB = 64;
const HEAP_MB_PER_SCOPE_MB = 16;
/** A heap grows in such steps, so that a thread that grows rarely needs another process. */
const HEAP_STEP_MB = 64;
const MAX_HEAP_MB = 512;
/**
 * What Node needs beside that heap: its code, and young objects. V8 checks its own limit too late for a single array or text
 * that exceeds it, so the system's limit of data stops it.
 */
const DATA_MB_BESIDE_HEAP = 112;

/** Later versions reserve half a GB for code in each V8 instance. It counts as data, so with a limit they would not start. */
const NEWEST_LIMITED_NODE = 22;
const SHELL = '/bin/sh';
/** The stack of each of Node's threads. It counts as data, so a larger one, set by the user, would use up the limit. */
const STACK_KB = 8192;

/**
 * The processor time of a child, as a multiple of the time of the task that it is started for. A child is replaced before it
 * reaches the limit; the limit ends a child that is busy when its parent has gone.
 */
const TASKS_OF_A_CHILD = 5;

/** How a wait for an answer ended. */
type Outcome = { kind: 'answer'; answer: EvaluatorAnswer } | { kind: 'late' } | Death;
type Death = { kind: 'died'; code: number | null; signal: NodeJS.Signals | null };

/**
 * One process for evaluations that only a kill can stop. It is started for the first one, used again, and replaced when killed.
 *
 * It never keeps its parent alive, ends with its parent, and gets none of its environment. Where Node has permissions, it
 * reads no file but its own program, writes none, and starts no process.
 */
export class EvaluatorChild {
  #process: ChildProcessWithoutNullStreams | undefined;
  #lines: Interface | undefined;
  #loadedScope: Scope | undefined;
  /** How much of the scope the process was sent, as JSON. */
  #scopeLength = 0;
  #heapMb = HEAP_MB;
  /** The processor time that the process has used, and its limit. */
  #spentMs = 0;
  #limitMs = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  /**
   * Evaluates in the child, one task after another in the order of the calls.
   * @throws as `evaluate`; {@link ExpressionTooLarge} when it takes the child's whole memory
   */
  evaluate(task: EvaluationTask, scope: Scope): Promise<JsonValue | undefined> {
    const result = this.#queue.then(() => this.#evaluateNext(task, scope));
    this.#queue = result.catch(() => undefined);
    return result;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** The next evaluation starts another. */
  close(): void {
    clearTimeout(this.#idleTimer);
    this.#lines?.close();
    this.#process?.kill('SIGKILL');
    this.#process = undefined;
    this.#lines = undefined;
    this.#loadedScope = undefined;
    this.#spentMs = 0;
  }

  async #evaluateNext(task: EvaluationTask, scope: Scope): Promise<JsonValue | undefined> {
    clearTimeout(this.#idleTimer);
    const neededMs = task.timeoutMs + GRACE_MS;
    if (this.#spentMs + neededMs > this.#limitMs) this.close();
    if (this.#process === undefined) this.#limitMs = neededMs * TASKS_OF_A_CHILD;
    await this.#load(scope);
    const request = JSON.stringify({ kind: 'evaluate', task } satisfies EvaluatorRequest);
    const outcome = await this.#ask(request, neededMs, MAX_STRETCH);
    this.#idleTimer = setTimeout(() => this.close(), IDLE_MS).unref();
    if (outcome.kind === 'late') throw new ExpressionTimeout(task.source, task.timeoutMs);
    if (outcome.kind === 'died') throw diedEvaluating(task, outcome, this.#heapMb);
    const { answer } = outcome;
    if (answer.kind === 'error') throw restoreError(task, answer.error);
    return answer.kind === 'value' ? answer.value : undefined;
  }

  async #load(scope: Scope): Promise<void> {
    const loaded = this.#loadedScope;
    if (loaded === scope) return;
    const request = (loaded && this.#growthOf(loaded, scope)) ?? this.#whole(scope);
    const outcome = await this.#ask(request, START_TIMEOUT_MS);
    if (outcome.kind === 'late') throw evaluatorUnavailable(`did not start within ${START_TIMEOUT_MS} ms`);
    if (outcome.kind === 'died') throw evaluatorUnavailable(`ended at its start (${howItEnded(outcome)})`);
    this.#loadedScope = scope;
  }

  /** The request that grows the loaded scope to another one; `undefined` if that needs more memory, or is another thread. */
  #growthOf(loaded: Scope, scope: Scope): string | undefined {
    const growth = this.#process && growthSince(loaded, scope);
    if (growth === undefined) return undefined;
    const request = JSON.stringify({ kind: 'growth', growth } satisfies EvaluatorRequest);
    if (heapFor(this.#scopeLength + request.length) > this.#heapMb) return undefined;
    this.#scopeLength += request.length;
    return request;
  }

  /** All of a scope, for a child that has memory for it. */
  #whole(scope: Scope): string {
    const request = JSON.stringify({ kind: 'scope', ...toSend(scope) } satisfies EvaluatorRequest);
    this.#scopeLength = request.length;
    const neededMb = heapFor(request.length);
    if (this.#process !== undefined && this.#heapMb < neededMb) this.close();
    if (this.#process === undefined) this.#heapMb = neededMb;
    return request;
  }

  /**
   * Sends a request and waits for its answer. Without an answer, the process is killed or has died.
   * @param timeoutMs of the child's processor time; of wall time if the system does not report that
   * @param maxStretch how many times `timeoutMs` the wall time may be
   */
  async #ask(request: string, timeoutMs: number, maxStretch: number = 1): Promise<Outcome> {
    const child = (this.#process ??= await this.#start());
    const lines = this.#lines;
    keepAlive(child, true);
    const beganMs = performance.now();
    const outcome = await new Promise<Outcome>((resolve) => {
      const cpuBefore = cpuTimeOf(child.pid ?? 0);
      const look = (): void => {
        const cpuNow = cpuTimeOf(child.pid ?? 0);
        const usedMs = cpuBefore === undefined || cpuNow === undefined ? timeoutMs : cpuNow - cpuBefore;
        const isLate = usedMs >= timeoutMs || performance.now() - beganMs >= timeoutMs * maxStretch;
        if (isLate) settle({ kind: 'late' });
        else timer = setTimeout(look, LATE_POLL_MS);
      };
      let timer = setTimeout(look, timeoutMs);
      const onLine = (line: string): void => {
        // The child writes answers and nothing else. One that was killed while it wrote leaves the beginning of a line.
        const answer = orElse((): EvaluatorAnswer | undefined => JSON.parse(line), undefined);
        if (answer !== undefined) settle({ kind: 'answer', answer });
      };
      const onEnd = (code: number | null, signal: NodeJS.Signals | null): void =>
        settle({ kind: 'died', code, signal });
      const onError = (): void => onEnd(null, null);
      const settle = (settled: Outcome): void => {
        clearTimeout(timer);
        lines?.off('line', onLine);
        child.off('exit', onEnd).off('error', onError);
        resolve(settled);
      };
      lines?.once('line', onLine);
      child.once('exit', onEnd).once('error', onError);
      if (child.exitCode !== null || child.signalCode !== null) onEnd(child.exitCode, child.signalCode);
      else child.stdin.write(`${request}\n`);
    });
    this.#spentMs = cpuTimeOf(child.pid ?? 0) ?? this.#spentMs + (performance.now() - beganMs);
    if (outcome.kind === 'answer') keepAlive(child, false);
    else this.close();
    return outcome;
  }

  async #start(): Promise<ChildProcessWithoutNullStreams> {
    const program = join(packageRoot(), 'dist', 'evaluator.cjs');
    if (!existsSync(program))
      throw evaluatorUnavailable(`is missing: ${program} does not exist (npm run build makes it)`);
    const [{ spawn }, { createInterface }] = await Promise.all([import('node:child_process'), import('node:readline')]);
    // A bare environment: no secrets, no NODE_OPTIONS, and the same time zone everywhere.
    const node = [process.execPath, `--max-old-space-size=${this.#heapMb}`, ...confined(program)];
    const [command = '', ...args] = limited(node, this.#heapMb + DATA_MB_BESIDE_HEAP, this.#limitMs);
    // In a session of its own: a Ctrl-C at the terminal would end it in a worker that goes on.
    const child = spawn(command, args, { stdio: 'pipe', env: { TZ: 'UTC' }, detached: true });
    assertPiped(child);
    child.stderr.resume();
    const forget = (): void => {
      if (this.#process === child) this.close();
    };
    child.on('error', forget).on('exit', forget);
    // A write to a child that has just died fails here. Its exit is reported instead.
    child.stdin.on('error', () => undefined);
    this.#lines = createInterface({ input: child.stdout });
    return child;
  }
}

/** Sets whether a child and its pipes keep the parent's event loop alive. */
function keepAlive(child: ChildProcessWithoutNullStreams, isNeeded: boolean): void {
  for (const handle of [child, child.stdin, child.stdout, child.stderr]) {
    // Pipes of a child are sockets, which can be referenced; the stream types don't say so.
    const change: unknown = Reflect.get(handle, isNeeded ? 'ref' : 'unref');
    if (typeof change === 'function') change.call(handle);
  }
}

/**
 * The arguments that start the program with Node's permissions: it may read itself and JSONata, and nothing else. None if
 * Node has no permissions.
 * Source: https://nodejs.org/api/permissions.html
 */
function confined(program: string): readonly string[] {
  const flag = ['--permission', '--experimental-permission'].find((name) =>
    process.allowedNodeEnvironmentFlags.has(name),
  );
  if (flag === undefined) return [program];
  // Node checks permissions by real paths.
  const real = realpathSync(program);
  const files = [real, join(dirname(real), 'vendor', 'jsonata.cjs')];
  return [flag, '--no-warnings', ...files.map((file) => `--allow-fs-read=${file}`), real];
}

/**
 * Starts the program through a shell that sets limits, because Node cannot limit a child. There is no limit if the system does
 * not support it or has no shell, and none of memory if Node is too new.
 * Source: getrlimit(2), RLIMIT_CPU, RLIMIT_DATA and RLIMIT_STACK; POSIX leaves all but `-f` of ulimit to the system, so they
 * may fail.
 */
function limited(words: readonly string[], dataMb: number, cpuMs: number): readonly string[] {
  if (process.platform === 'win32' || !existsSync(SHELL)) return words;
  const limits = [`-t ${Math.ceil(cpuMs / 1000)}`];
  if (Number.parseInt(process.versions.node, 10) <= NEWEST_LIMITED_NODE) {
    limits.push(`-S -s ${STACK_KB}`, `-S -d ${dataMb * 1024}`);
  }
  const line = limits.map((limit) => `ulimit ${limit} 2>/dev/null; `).join('');
  return [SHELL, '-c', `${line}exec "$@"`, 'sh', ...words];
}

/** The heap for a scope of this many characters of JSON, the same on every machine: running out of it is a result. */
function heapFor(scopeLength: number): number {
  const wantedMb = HEAP_MB + (scopeLength / 1e6) * HEAP_MB_PER_SCOPE_MB;
  return Math.min(MAX_HEAP_MB, Math.ceil(wantedMb / HEAP_STEP_MB) * HEAP_STEP_MB);
}

/** Signals and exit codes of a process that V8 ends because it has no memory left. */
const OUT_OF_MEMORY: ReadonlySet<unknown> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGSEGV', 133, 134]);

function diedEvaluating(task: EvaluationTask, death: Death, heapMb: number): Error {
  if (OUT_OF_MEMORY.has(death.signal ?? death.code)) return new ExpressionTooLarge(task.source, heapMb);
  return evaluatorUnavailable(`ended before it answered (${howItEnded(death)})`);
}

function howItEnded({ code, signal }: Death): string {
  return signal ?? (code === null ? 'it could not be started' : `exit code ${code}`);
}

let shared: EvaluatorChild | undefined;

export function sharedEvaluator(): EvaluatorChild {
  return (shared ??= new EvaluatorChild());
}
