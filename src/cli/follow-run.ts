import { describeThread } from '../engine/describe.ts';
import { hintToAnswer } from '../engine/hint-to-answer.ts';
import type { Engine } from '../engine/engine.ts';
import type { ThreadOver } from '../engine/events.ts';
import type { Repository } from '../git/repository.ts';
import type { CliContext } from './context.ts';
import { openEngine, readingContext } from './engine-here.ts';
import { exitCodeOfRun, type ExitCode } from './exit-code.ts';
import type { Output } from './output/output.ts';
import { createPalette, paintStatus } from './output/palette.ts';
import { createRunView } from './output/run-view.ts';
import { harmless } from './output/width.ts';

/** The fields of the JSON lines of a run. */
export const runFields: Readonly<Record<string, string>> = {
  event:
    'what happened: thread.started, step.started, step.finished, …; the last is thread.ended, .suspended, .failed or .cancelled',
  thread: 'the thread; child threads tell under their own',
  status: 'of the last line: how the thread stands',
  returnCode: 'of the last line: 0 for completed, null while it is suspended',
  head: 'the commit that the thread is at',
  text: 'of the last line: the summary, or what the thread waits for; else what an agent says',
  role: 'who works; of thread.suspended: whose turn waits',
  cause: 'of thread.suspended: what stopped the turn',
  suspension: "of thread.suspended: the suspension's hash; 'uwf step show <suspension>' shows all that was said",
  agent: 'the agent that does the role here',
  number: "the step's number in its thread, from 1",
  step: "the finished step's hash",
  outcome: "the $status of the finished step's reply",
  subject: 'the first line of the reply',
  durationMs: 'how long the step took',
  usage: 'tokens, turns and cost, where the agent tells them',
  errors: 'why a reply was not accepted',
  input: 'of agent.turn: what the model is told that it was not told before',
  id: 'of agent.tool and agent.result: which call it is',
  name: "of agent.tool: the tool's name",
  arguments: 'of agent.tool: what the tool is given',
  result: 'of agent.result: what the tool gave back',
  isError: 'of agent.result: whether the tool failed',
  limit: 'of thread.waiting: how many threads may work at the same time',
  holders: 'of thread.waiting: those that work: thread, pid, host',
  steps: 'of thread.compacted: how many steps were summed up',
  characters: 'of thread.compacted and .not-compacted: how long the summary is, or what was to be summed up',
  reason: 'of thread.not-compacted: why',
  workflow: 'of thread.started: the name of its workflow',
  parent: 'of thread.started: the thread that called it',
  child: 'of child.left: a child thread that no later try of the turn asked for again',
};

/** What the exit codes of commands that run a thread mean. */
export const runExitCodes: Readonly<Record<number, string>> = {
  0: 'the thread has ended',
  3: 'the thread has failed: its workflow could not go on, or said so',
  4: 'the thread is suspended and waits for you',
  5: 'another process works on the thread, or was faster',
  6: 'an agent is missing, or you have not agreed to what would run',
  130: 'interrupted, or the thread was cancelled; what was stored stays',
};

/**
 * Runs a thread and shows it: events as they happen, the summary on stdout, where to look next.
 *
 * @param asked the thread; default: the one that is started
 * @returns the exit code that tells how the thread stands
 */
export async function followRun(
  { cli, out }: { cli: CliContext; out: Output },
  repository: Repository,
  work: (engine: Engine) => Promise<ThreadOver>,
  asked?: string,
): Promise<ExitCode> {
  const view = createRunView(cli, out, asked);
  let over: ThreadOver;
  try {
    over = await work(await openEngine(cli, repository, view));
  } finally {
    await view.close();
  }
  if (!out.isJson) await showOver({ cli, out }, repository, over);
  return exitCodeOfRun(over);
}

/** Says how a run came out: its summary on stdout, everything about it on stderr. */
export async function showOver(
  { cli, out }: { cli: CliContext; out: Output },
  repository: Repository,
  over: ThreadOver,
): Promise<void> {
  const paint = createPalette(cli.stderr, cli.env);
  const text = harmless(over.text).trimEnd();
  const status = paintStatus(paint, over.status);
  if (over.event === 'thread.suspended') {
    out.note(`thread ${paint.id(over.thread)} is ${status}${text === '' ? '' : `: ${text}`}`);
    const context = readingContext(repository);
    const hint = await hintToAnswer(context, await describeThread(context, over.thread));
    out.hint(`${hint === undefined ? '' : `${hint}; `}'uwf thread read ${over.thread}' tells what was said`);
    return;
  }
  if (text !== '') cli.stdout.write(`${text}\n`);
  const code = over.event === 'thread.failed' ? ` with ${over.returnCode ?? 1}` : '';
  out.note(`thread ${paint.id(over.thread)} ${over.status === 'ended' ? 'has' : 'is'} ${status}${code}`);
  out.hint(`'uwf log ${over.thread}' tells its story`);
}
