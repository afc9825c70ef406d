import { randomBytes } from 'node:crypto';
import { createRedactor } from '../redaction/create-redactor.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { Answer, AskOptions } from './verbs/ask.ts';
import type { Compacted, CompactOptions } from './verbs/compact.ts';
import { createEngineContext, type EngineContext, type EngineOptions } from './engine-context.ts';
import type { ThreadView } from './describe/describe.ts';
import type { ListOptions } from './describe/list-threads.ts';
import type { ThreadSummary } from './describe/read-listed.ts';
import type { ThreadOver } from './events.ts';
import { knownSecrets } from './redact/known-secrets.ts';
import type { PokeOptions } from './verbs/poke.ts';
import type { PutQuestion } from './verbs/put-question.ts';
import type { ContextPreview } from './verbs/preview-context.ts';
import type { ResumeOptions } from './verbs/resume.ts';
import type { RunOptions, StepOptions } from './verbs/run.ts';
import type { StartOptions } from './verbs/start.ts';
import type { StepOutcome } from './turn/step.ts';
import type { StopOutcome } from './verbs/stop.ts';
import type { Redaction } from './redact/redaction.ts';
import type { ThreadId } from '../thread/thread-id.ts';

/**
 * Runs threads of one repository on this machine. It holds no state: everything is read from the repository when a
 * verb is called, and is there when it returns.
 *
 * Wherever a thread is asked for, a whole id or a prefix that only it has will do.
 */
export interface Engine {
  /**
   * Starts a thread; no role runs yet.
   * @throws {AgentMissing} with `requireAgents`, if a role has no agent
   */
  start(options: StartOptions): Promise<ThreadView>;
  /**
   * Does one step: decides, runs the role's agent, stores the step, and ends the thread if that is decided.
   * @throws {LeaseHeld} if another process works on it
   * @throws {ThreadMoved} if another process appended meanwhile; the finished step is kept as a fork
   * @throws {AgentMissing} if the role has no agent here; nothing is stored then
   */
  step(thread: string, options?: StepOptions): Promise<StepOutcome>;
  /** Steps until the thread is over or suspended. */
  run(thread: string, options?: RunOptions): Promise<ThreadOver>;
  /**
   * Lets a suspended thread go on, with an answer or without, and runs it; a child's parent goes on with it. One whose run
   * was cut off goes on where it stands. An ended thread is taken up again as a new one.
   * @throws {WrongThreadState} if there is an answer and the thread waits for none, or the thread was cancelled
   * @throws {WaitsAtLimit} if it waits at a limit and `more` does not raise that far enough
   */
  resume(thread: string, options?: ResumeOptions): Promise<ThreadOver>;
  /**
   * Stores what `resume` would store before it runs the thread, or the child that asked, and runs nothing: another machine does.
   * @returns the thread that goes on: another one than `thread` if that has ended
   * @throws as `resume`
   */
  answer(thread: string, options?: Pick<ResumeOptions, 'answer' | 'more' | 'seen' | 'givenAtMs'>): Promise<ThreadId>;
  /**
   * Puts the question of a person's role, with which a thread or one that it waits for is suspended, to the person of `askPerson`.
   * It can be answered elsewhere meanwhile. The answer is for `resume` of the thread that asks, with the head at which it did.
   * @param except threads whose question is left out
   * @returns `undefined` if no person of this machine is asked, or there is no `askPerson`
   */
  putQuestion(thread: string, except?: ReadonlySet<ThreadId>): Promise<PutQuestion | undefined>;
  /** Refuses what `run` would refuse at once, and has its agents admitted, for one that runs in a process of its own. */
  checkRun(thread: string, options?: Pick<RunOptions, 'agent'>): Promise<void>;
  /** The same for `resume`. */
  checkResume(thread: string, options?: Pick<ResumeOptions, 'answer' | 'more' | 'agent' | 'givenAtMs'>): Promise<void>;
  /**
   * Has the newest step of a thread done again by its role, told what a person has to say about it. The new step takes
   * the old one's place; the old one stays a parent of its commit. Should the role wait for something instead, the thread
   * is left as it is, and a fork waits: `thread` of what is returned.
   * @throws {WrongThreadState} if the thread does not stand at a step
   */
  poke(thread: string, word: string, options?: PokeOptions): Promise<StepOutcome>;
  /**
   * Sums up all that was said in a thread: the next step carries the summary, and from then on agents are told that
   * instead. Deciding, `log` and `verify` see every step as before.
   * @throws {WrongThreadState} if nothing was said yet, or the thread is over
   */
  compact(thread: string, options?: CompactOptions): Promise<Compacted>;
  /** Puts a question to the agent of a step, in its session where this machine has that; the thread is left as it is. */
  ask(thread: string, question: string, options?: AskOptions): Promise<Answer>;
  /** Cancels a thread and its children. Stops the process that runs it, if there is one. */
  cancel(thread: string, options?: { reason?: string | undefined; graceMs?: number | undefined }): Promise<ThreadOver>;
  /** Ends the work on a thread, agent included, but not the thread. */
  stop(thread: string, options?: { graceMs?: number | undefined }): Promise<StopOutcome>;
  /** Waits until no process works on a thread, and says how it stands; `undefined` if it is neither over nor suspended. */
  join(thread: string, options?: { timeoutMs?: number | undefined }): Promise<ThreadOver | undefined>;
  /**
   * Returns the folder of the thread's own work tree, and makes it if it is not there.
   * @throws {LeaseHeld} if another process works on the thread, and has not made the work tree yet
   */
  openWorkTree(thread: string): Promise<string>;
  describe(thread: string): Promise<ThreadView>;
  list(options?: ListOptions): Promise<ThreadSummary[]>;
  /** Writes what the next agent would be told, or that of another role; nothing is run or stored. */
  context(thread: string, role?: string): Promise<ContextPreview>;
}

/**
 * Makes an engine for a repository.
 * @throws {UwfError} `relative-path` if `cwd` or `workTrees` is no absolute path
 */
export function createEngine(options: EngineOptions): Engine {
  const { redactor = createOwnRedactor(options) } = options;
  const engine = createEngineContext({ ...options, redactor }, async (...given) =>
    (await import('./children/child-threads.ts')).runChild(...given),
  );
  /**
   * Makes a verb of this engine, which is loaded when it is called: a command calls one or two. Secrets are taken out of its
   * errors, which may quote what an agent has said.
   */
  const bound =
    <Given extends unknown[], Result>(
      load: () => Promise<(engine: EngineContext, ...given: Given) => Promise<Result>>,
    ) =>
    async (...given: Given): Promise<Result> => {
      try {
        const verb = await load();
        return await verb(engine, ...given);
      } catch (error) {
        throw cleanError(engine.redaction(), error);
      }
    };
  return {
    start: bound(async () => (await import('./verbs/start.ts')).startNew),
    step: bound(async () => (await import('./verbs/run.ts')).stepThread),
    run: bound(async () => (await import('./verbs/run.ts')).runThread),
    resume: bound(async () => (await import('./verbs/resume.ts')).resumeAndRun),
    answer: bound(async () => (await import('./verbs/resume.ts')).answerThread),
    putQuestion: bound(async () => (await import('./verbs/put-question.ts')).putQuestion),
    checkRun: bound(async () => (await import('./verbs/run.ts')).checkRun),
    checkResume: bound(async () => (await import('./verbs/resume.ts')).checkResumption),
    poke: bound(async () => (await import('./verbs/poke.ts')).pokeThread),
    compact: bound(async () => (await import('./verbs/compact.ts')).compactThread),
    ask: bound(async () => (await import('./verbs/ask.ts')).askThread),
    cancel: bound(async () => (await import('./verbs/cancel.ts')).cancelThread),
    stop: bound(async () => (await import('./verbs/stop.ts')).stopThread),
    join: bound(async () => (await import('./verbs/join.ts')).joinThread),
    openWorkTree: bound(async () => (await import('./verbs/open-thread.ts')).openThread),
    describe: bound(async () => (await import('./describe/describe.ts')).describeThread),
    list: bound(async () => (await import('./describe/list-threads.ts')).listThreads),
    context: bound(async () => (await import('./verbs/preview-context.ts')).previewContext),
  };
}

/** A redactor for the secrets in the engine's options. Its key is this engine's own: another engine makes other marks. */
function createOwnRedactor({ env = {}, config }: EngineOptions): Redactor {
  const known = knownSecrets({ env, config }).map(({ value }) => value);
  const { rules = [], allow = [] } = config.redact ?? {};
  return createRedactor({ key: randomBytes(32), known, rules, allow });
}

/** Takes secrets out of all that an error says, its causes included: it goes to a terminal or a log. */
function cleanError(redaction: Redaction, error: unknown, seen = new Set<unknown>()): unknown {
  // Causes of what an embedder throws may lead back to it.
  if (!(error instanceof Error) || seen.has(error)) return error;
  seen.add(error);
  for (const name of Object.getOwnPropertyNames(error)) {
    const property = Object.getOwnPropertyDescriptor(error, name);
    if (property?.writable !== true) continue;
    const clean = name === 'cause' ? cleanError(redaction, property.value, seen) : cleaned(redaction, property.value);
    if (clean !== property.value) Object.defineProperty(error, name, { ...property, value: clean });
  }
  return error;
}

function cleaned(redaction: Redaction, value: unknown): unknown {
  if (typeof value === 'string') return redaction.text(value);
  // The facts of uwf's errors are JSON; what else an error has is not told.
  return Array.isArray(value) ? redaction.value(value) : value;
}
