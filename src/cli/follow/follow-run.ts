import { describeThread, hintToAnswer } from '../../engine/describe/describe.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ThreadOver } from '../../engine/events.ts';
import type { PutQuestion } from '../../engine/verbs/put-question.ts';
import type { StepOutcome } from '../../engine/turn/step.ts';
import { LeaseHeld } from '../../engine/leases/lease.ts';
import type { Repository } from '../../git/repository.ts';
import { ThreadMoved } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { EXIT, exitCodeOfRun, type ExitCode } from '../errors/exit-code.ts';
import { openEngine } from '../open/open-engine.ts';
import type { Output } from '../output/output.ts';
import { createPalette, harmless, paintStatus } from '../output/text.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { createRunView, type RunView } from './run-view.ts';

export const overFields: Readonly<Record<string, string>> = {
  thread: 'the thread',
  status: 'at the end: how the thread stands',
  returnCode: 'at the end: 0 for completed, null while it is suspended',
  head: 'the commit that the thread is at',
  text: 'the summary, or what the thread waits for',
  role: 'of thread.suspended: whose turn waits',
  cause: 'of thread.suspended: what stopped the turn',
  suspension: "of thread.suspended: the suspension's hash; 'uwf step show <suspension>' shows all that was said",
};

export const runFields: Readonly<Record<string, string>> = {
  event:
    'what happened: thread.started, step.started, step.finished, …; the last is thread.ended, .suspended, .failed or .cancelled',
  ...overFields,
  thread: 'the thread; events of child threads have the id of the child',
  text: 'of the last line: the summary, or what the thread waits for; of limits.unkept: why; else what an agent says',
  role: 'who works; of thread.suspended: whose turn waits',
  agent: 'the agent that does the role here',
  number: "the step's number in its thread, from 1",
  step: "the finished step's hash",
  outcome: "the $status of the finished step's reply",
  subject: "one line of the reply: the first, of a program's output the last that says something",
  durationMs: 'how long the step took',
  usage: 'tokens, turns and cost, where the agent tells them',
  errors: 'why a reply was not accepted',
  input: 'of agent.turn: what the model is told that it was not told before',
  id: 'of agent.tool and agent.result: which call it is',
  name: "of agent.tool: the tool's name",
  arguments: 'of agent.tool: what the tool is given',
  result: 'of agent.result: what the tool gave back',
  isError: 'of agent.result: whether the tool failed',
  limits: 'of limits.unkept: the limits that do not hold for the agent, which does not report what they count',
  hint: 'of limits.unkept: which limits hold, and what to add',
  limit: 'of thread.waiting: how many threads may work at the same time',
  holders: 'of thread.waiting: those that work: thread, pid, host',
  workTree: 'of work-tree.shared: the work tree in which agents of other runs work, too',
  others: 'of work-tree.shared: the threads of those runs: thread, pid, host',
  steps: 'of thread.compacted: how many steps were summed up',
  characters: 'of thread.compacted and .not-compacted: how long the summary is, or what was to be summed up',
  reason: 'of thread.not-compacted: why',
  workflow: 'of thread.started: the name of its workflow',
  parent: 'of thread.started and branch.continued: the thread that called it',
  branch: 'of thread.started and branch.continued: which branch of the caller it is: block, key',
  child: 'of child.left: a child thread that no later try of the turn asked for again',
};

export const runExitCodes: Readonly<Record<number, string>> = {
  0: 'the thread has ended',
  3: 'the thread has failed: its workflow could not go on, or said so',
  4: 'the thread is suspended and waits for you',
  5: 'another process works on the thread, or has advanced it',
  6: 'an agent is missing, or you have not agreed to what would run',
  130: 'interrupted, or the thread was cancelled; what was stored stays',
};

type World = { cli: CliEnvironment; out: Output };

/** Works with an engine. All of its events are shown when it returns. */
export async function withEngine<T>(
  cli: CliEnvironment,
  repository: Repository,
  view: RunView | undefined,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  try {
    return await work(await openEngine(cli, repository, view));
  } finally {
    await view?.close();
  }
}

/** Runs a thread (default: a new one) and shows it: events as they happen, the summary on stdout, where to look next. */
export async function followRun(
  world: World,
  repository: Repository,
  work: (engine: Engine) => Promise<ThreadOver>,
  asked?: string,
): Promise<ExitCode> {
  const runAndAsk = async (engine: Engine): Promise<ThreadOver> => {
    let over = await work(engine);
    const later = new Set<ThreadId>();
    while (over.event === 'thread.suspended') {
      const now = await goOnWithAnswer(world, repository, engine, over, later);
      if (now === undefined) break;
      over = now;
    }
    return over;
  };
  const over = await withEngine(world.cli, repository, createRunView(world.cli, world.out, asked), runAndAsk);
  return showOver(world, repository, over);
}

/**
 * Puts a question with which a run waits to the person at the terminal, and goes on with their answer. What is answered elsewhere
 * meanwhile goes on there.
 * @param later threads whose question the person has left for later
 * @returns `undefined` if no question is left
 */
async function goOnWithAnswer(
  world: World,
  repository: Repository,
  engine: Engine,
  over: ThreadOver,
  later: Set<ThreadId>,
): Promise<ThreadOver | undefined> {
  const put = await putQuestion(world, repository, engine, over, later);
  if (put?.kind === 'later') later.add(put.thread);
  if (put === undefined || put.kind === 'later') return put && over;
  const { thread, head: seen } = put;
  const resumed =
    put.kind === 'answered' && (await engine.resume(thread, { answer: put.answer, seen }).catch(unlessTaken(thread)));
  if (!resumed) {
    tellElsewhere(world, thread);
    await engine.join(thread);
  }
  const now = resumed && resumed.thread === over.thread ? resumed : await engine.join(over.thread);
  if (now === undefined) throw new ThreadMoved(over.thread, undefined, undefined);
  return now;
}

/** The same for one step: only stores the answer. @returns whether the thread is to be stepped again */
async function storeAnswer(world: World, repository: Repository, engine: Engine, over: ThreadOver): Promise<boolean> {
  const put = await putQuestion(world, repository, engine, over);
  if (put === undefined || put.kind === 'later') return false;
  const { thread, head: seen } = put;
  const stored =
    put.kind === 'answered' && (await engine.answer(thread, { answer: put.answer, seen }).catch(unlessTaken(thread)));
  if (stored) return true;
  tellElsewhere(world, thread);
  throw new ThreadMoved(thread, undefined, undefined);
}

async function putQuestion(
  world: World,
  repository: Repository,
  engine: Engine,
  over: ThreadOver,
  later?: ReadonlySet<ThreadId>,
): Promise<PutQuestion | undefined> {
  try {
    return await engine.putQuestion(over.thread, later);
  } catch (error) {
    // Who interrupts it leaves it for later.
    if (world.cli.signal.aborted) await showOver(world, repository, over);
    throw error;
  }
}

function tellElsewhere({ out }: World, thread: ThreadId): void {
  out.note(`thread ${out.paint.id(thread)} was answered elsewhere`);
}

/** Swallows the error of an answer to a thread that another process has, or has advanced. */
function unlessTaken(thread: ThreadId): (error: unknown) => undefined {
  return (error) => {
    const isTaken = (error instanceof ThreadMoved && error.fork === undefined) || error instanceof LeaseHeld;
    if (!isTaken || error.thread !== thread) throw error;
  };
}

/** Says how a run came out: its summary on stdout, everything about it on stderr; nothing under `--json`. */
export async function showOver({ cli, out }: World, repository: Repository, over: ThreadOver): Promise<ExitCode> {
  const code = exitCodeOfRun(over);
  if (out.isJson) return code;
  const paint = createPalette(cli.stderr, cli.env);
  const text = harmless(over.text).trimEnd();
  const status = paintStatus(paint, over.status);
  if (over.event === 'thread.suspended') {
    out.note(`thread ${paint.id(over.thread)} is ${status}${text === '' ? '' : `: ${text}`}`);
    const context = { repository, config: { agents: {}, roles: {} } };
    const hint = await hintToAnswer(context, await describeThread(context, over.thread));
    out.hint(`${hint === undefined ? '' : `${hint}; `}'uwf thread read ${over.thread}' prints what was said`);
    return code;
  }
  if (text !== '') cli.stdout.write(`${text}\n`);
  const returned = over.event === 'thread.failed' ? ` with ${over.returnCode ?? 1}` : '';
  out.note(`thread ${paint.id(over.thread)} ${over.status === 'ended' ? 'has' : 'is'} ${status}${returned}`);
  out.hint(`'uwf log ${over.thread}' shows its log`);
  return code;
}

export const stepOutcomeFields: Readonly<Record<string, string>> = {
  thread: 'the thread',
  status: 'how it stands after the step',
  role: 'who took the step, or whose turn waits; null if nothing ran and nothing waits',
  step: "the step's hash; null if nothing was stored",
  head: 'the commit that the thread is at',
  nextRole: 'who is next',
  reason: 'what it waits for, or how it ended',
  cause: 'only of a thread that waits: what stopped the turn',
  suspension: "only of a thread that waits: the suspension's hash",
  returnCode: 'of a thread that is over',
};

/** A view for commands whose own result is their JSON: events would be in between. */
export function viewOfText({ cli, out }: World): RunView | undefined {
  return out.isJson ? undefined : createRunView(cli, out);
}

/** Takes steps, each told how many were taken before, and prints each outcome, until the thread is suspended or over. */
export async function followSteps(
  world: World,
  repository: Repository,
  take: (engine: Engine, taken: number) => Promise<StepOutcome>,
  count = 1,
): Promise<ExitCode> {
  const takeAll = async (engine: Engine): Promise<ThreadOver | undefined> => {
    for (let taken = 0; taken < count; taken += 1) {
      let outcome = await take(engine, taken);
      while (outcome.over?.cause === 'human' && (await storeAnswer(world, repository, engine, outcome.over))) {
        outcome = await engine.step(outcome.thread);
      }
      await printStep(world.out, outcome);
      if (outcome.over !== null) return outcome.over;
    }
    return undefined;
  };
  const over = await withEngine(world.cli, repository, viewOfText(world), takeAll);
  return over === undefined ? EXIT.done : showOver(world, repository, over);
}

function printStep(out: Output, outcome: StepOutcome): Promise<void> {
  const { thread, status, step, head, nextRole, over } = outcome;
  const role = outcome.role ?? over?.role ?? null;
  const ran = step === null ? undefined : `${out.paint.id(step)}  ${out.paint.name(role ?? '')}`;
  const next = nextRole === null ? '' : out.paint.quiet(`  next: ${nextRole}`);
  const { text: reason = null, returnCode = null, cause, suspension } = over ?? {};
  const result = { thread, status, role, step, head, nextRole, reason, returnCode, cause, suspension };
  return out.line(result, ran === undefined ? undefined : ran + next);
}
