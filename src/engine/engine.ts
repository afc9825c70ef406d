import { randomBytes } from 'node:crypto';
import { createRedactor } from '../redaction/create-redactor.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { askThread, type Answer, type AskOptions } from './ask.ts';
import { cancelThread } from './cancel.ts';
import { runChild } from './child-threads.ts';
import { cleanError } from './clean-error.ts';
import { compactThread, type Compacted, type CompactOptions } from './compact.ts';
import { createContext, type EngineOptions } from './context.ts';
import { describeThread, listThreads, type ListOptions, type ThreadSummary, type ThreadView } from './describe.ts';
import type { ThreadOver } from './events.ts';
import { joinThread } from './join.ts';
import { knownSecrets } from './known-secrets.ts';
import { pokeThread, type PokeOptions } from './poke.ts';
import { previewContext, type ContextPreview } from './preview-context.ts';
import { checkResumption, resumeAndRun, type ResumeOptions } from './resume.ts';
import { checkRun, runThread, type RunOptions } from './run.ts';
import { startNew, type StartOptions } from './start.ts';
import { stepThread, type StepOptions, type StepOutcome } from './step-thread.ts';
import { stopThread, type StopOutcome } from './stop.ts';

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
   * @throws {LeaseHeld} if somebody works on it
   * @throws {ThreadMoved} if somebody else appended meanwhile; the finished step is kept as a fork
   * @throws {AgentMissing} if the role has no agent here; nothing is stored then
   */
  step(thread: string, options?: StepOptions): Promise<StepOutcome>;
  /** Steps until the thread is over or suspended. */
  run(thread: string, options?: RunOptions): Promise<ThreadOver>;
  /**
   * Lets a suspended thread go on, with an answer or without, and runs it; a child's parent goes on with it. One whose run
   * was cut off goes on where it stands. An ended thread is taken up again as a new one.
   * @throws {WrongThreadState} if there is an answer and nobody waits for one, or the thread was cancelled
   * @throws {WaitsAtLimit} if it waits at a limit and `more` does not raise that far enough
   */
  resume(thread: string, options?: ResumeOptions): Promise<ThreadOver>;
  /** Refuses what `run` would refuse at once, and has its agents admitted, for one that runs in a process of its own. */
  checkRun(thread: string, options?: Pick<RunOptions, 'agent'>): Promise<void>;
  /** The same for `resume`. */
  checkResume(thread: string, options?: Pick<ResumeOptions, 'answer' | 'more' | 'agent'>): Promise<void>;
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
  /** Ends a thread for good, its children first; whoever works on it is stopped. */
  cancel(thread: string, options?: { reason?: string; graceMs?: number }): Promise<ThreadOver>;
  /** Ends the work on a thread, agent included, but not the thread. */
  stop(thread: string, options?: { graceMs?: number }): Promise<StopOutcome>;
  /** Waits until nobody works on a thread, and says how it stands; `thread.idle` is told as undefined. */
  join(thread: string, options?: { timeoutMs?: number }): Promise<ThreadOver | undefined>;
  describe(thread: string): Promise<ThreadView>;
  list(options?: ListOptions): Promise<ThreadSummary[]>;
  /** Writes what the next agent would be told, or that of another role; nothing is run or stored. */
  context(thread: string, role?: string): Promise<ContextPreview>;
}

/** Makes an engine for a repository. */
export function createEngine(options: EngineOptions): Engine {
  const { redactor = createOwnRedactor(options) } = options;
  const context = createContext({ ...options, redactor }, runChild);
  /** What goes wrong may quote what an agent has said. */
  const guarded = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw cleanError(context.redaction(), error);
    }
  };
  return {
    start: (startOptions) => guarded(startNew(context, startOptions)),
    step: (thread, stepOptions) => guarded(stepThread(context, thread, stepOptions)),
    run: (thread, runOptions) => guarded(runThread(context, thread, runOptions)),
    resume: (thread, resumeOptions) => guarded(resumeAndRun(context, thread, resumeOptions)),
    checkRun: (thread, runOptions) => guarded(checkRun(context, thread, runOptions)),
    checkResume: (thread, resumeOptions = {}) => guarded(checkResumption(context, thread, resumeOptions)),
    poke: (thread, word, pokeOptions) => guarded(pokeThread(context, thread, word, pokeOptions)),
    compact: (thread, compactOptions) => guarded(compactThread(context, thread, compactOptions)),
    ask: (thread, question, askOptions) => guarded(askThread(context, thread, question, askOptions)),
    cancel: (thread, cancelOptions) => guarded(cancelThread(context, thread, cancelOptions)),
    stop: (thread, stopOptions) => guarded(stopThread(context, thread, stopOptions)),
    join: (thread, joinOptions) => guarded(joinThread(context, thread, joinOptions)),
    describe: (thread) => describeThread(context, thread),
    list: (listOptions) => listThreads(context, listOptions),
    context: (thread, role) => previewContext(context, thread, role),
  };
}

/** What is known from what the engine was given. Its key is of this engine alone: a secret has another mark in the next. */
function createOwnRedactor({ env = {}, config }: EngineOptions): Redactor {
  const known = knownSecrets({ env, config }).map(({ value }) => value);
  const { rules = [], allow = [] } = config.redact ?? {};
  return createRedactor({ key: randomBytes(32), known, rules, allow });
}
