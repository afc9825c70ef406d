import type { Engine } from '../../../engine/engine.ts';
import type { ThreadOver } from '../../../engine/events.ts';
import type { Repository } from '../../../git/repository.ts';
import { findThread } from '../../../thread/find-thread.ts';
import type { ThreadId } from '../../../thread/thread-id.ts';
import { type Command, defineCommand, onOption, parseDuration, threadArgument } from '../../command-line/command.ts';
import { EXIT } from '../../errors/exit-code.ts';
import { overFields, runExitCodes, showOver } from '../../follow/follow-run.ts';
import { inOrderOfRun } from '../../follow/run-view.ts';
import { openEngine } from '../../open/open-engine.ts';
import { openForReading, openForWriting } from '../../open/open-repository.ts';
import { cancelOn, stopOn } from '../../sharing/on-remote.ts';

export const threadJoinCommand: Command = defineCommand({
  description: `Waits until no process works on the thread, and prints its status. Returns at once if no process does.`,
  arguments: [threadArgument],
  options: { timeout: { value: '<span>', summary: 'give up after so long: 30s, 5min', parse: parseDuration } },
  json: {
    event: 'thread.ended, .suspended, .failed, .cancelled, or thread.idle when its runner stopped before the end',
    ...overFields,
  },
  examples: [
    { command: 'uwf thread join 01KAM4', comment: 'wait as long as it takes' },
    { command: 'uwf thread join 01KAM4 --timeout 10min', comment: 'exit 124 if it takes longer' },
  ],
  exitCodes: {
    ...runExitCodes,
    0: 'the thread has ended, or no process works on it',
    124: 'it took longer than --timeout',
  },
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const engine = await openEngine(cli, repository);
    const over = await engine.join(args.thread, { timeoutMs: options.timeout });
    if (over === undefined) {
      const { thread, status, head } = await engine.describe(args.thread);
      await out.result({ event: 'thread.idle', thread, status, returnCode: null, head, text: '' }, () => '');
      if (!out.isJson) out.note(`thread ${thread} is ${status}: no process works on it`);
      out.hint(`'uwf thread run ${thread}' runs it on`);
      return EXIT.done;
    }
    await out.result(inOrderOfRun(over), () => '');
    return showOver({ cli, out }, repository, over);
  },
});

export const threadStopCommand: Command = defineCommand({
  description: `Asks the process that runs the thread, and its agent, to stop, and kills them if they have not ended within
the grace time. The thread keeps its steps and can be run on. Of a thread that another thread called, only its own work ends:
the caller waits for it, and goes on with its other branches.

With --on the work on the thread and on those below it stops at a remote: workers publish nothing more of it, end their agents,
and take it again only after 'uwf thread run --on'. A turn that is cut off is taken again from its start.`,
  arguments: [threadArgument],
  options: {
    grace: { value: '<span>', summary: 'wait so long before killing; 10s', parse: parseDuration },
    on: { ...onOption, summary: 'stop the workers of this remote' },
  },
  json: {
    thread: 'the thread',
    status: 'how it stands now',
    head: 'the commit that it is at',
    wasRunning: 'whether a process worked on it',
    isKilled: 'whether it had to be killed',
    workers: 'with --on: the workers that had it, or threads below it: thread, worker, host',
  },
  examples: [
    { command: 'uwf thread stop 01KAM4', comment: 'stop it; uwf thread run goes on' },
    { command: 'uwf thread stop 01KAM4 --on origin', comment: 'the same at a remote; uwf thread run --on goes on' },
  ],
  async run({ args, options, cli, out }) {
    if (options.on !== undefined) {
      return stopOn({ cli, out }, args.thread, options.on);
    }
    const engine = await openEngine(cli, await openForReading(cli));
    const stopped = await engine.stop(args.thread, { graceMs: options.grace });
    const { thread, status, head } = await engine.describe(args.thread);
    await out.result({ thread, status, head, ...stopped }, () =>
      stopped.wasRunning
        ? `thread ${out.paint.id(thread)} was stopped${stopped.isKilled ? ' by force' : ''} and is ${status}`
        : `no process works on thread ${out.paint.id(thread)}; it is ${status}`,
    );
  },
});

export const threadCancelCommand: Command = defineCommand({
  description: `Stops the process that runs the thread, cancels its children, and writes its end. All its steps stay
readable. The thread that called it goes on, and is told how it ended.

With --on a thread of a remote is cancelled: it is fetched, its end is written here and pushed, and workers that have it stop.`,
  arguments: [threadArgument],
  options: {
    reason: { short: 'm', value: '<text>', summary: 'why; becomes the summary' },
    grace: { value: '<span>', summary: 'wait so long before killing; 10s', parse: parseDuration },
    on: { ...onOption, summary: 'cancel it at this remote, and stop its workers' },
  },
  json: {
    event: 'thread.cancelled',
    thread: 'the thread',
    status: 'cancelled',
    returnCode: '130',
    head: 'its last commit',
    text: 'the reason',
  },
  examples: [
    { command: "uwf thread cancel 01KAM4 -m 'superseded by #12'", comment: 'with a reason' },
    { command: 'uwf thread cancel 01KAM4 --on origin', comment: 'at a remote; the worker that has it stops' },
  ],
  async run({ args, options, cli, out }) {
    const { reason, grace: graceMs, on } = options;
    const given = { reason, graceMs };
    const tell = ({ event, thread, status, returnCode, head, text }: ThreadOver): Promise<void> =>
      out.result(
        { event, thread, status, returnCode, head, text },
        () => `thread ${out.paint.id(thread)} is cancelled`,
      );
    if (on !== undefined) {
      const cancel = async (there: Repository, thread: string): Promise<ThreadOver> =>
        (await openEngine(cli, there)).cancel(thread, given);
      return tell(await cancelOn({ cli, out }, args.thread, on, cancel));
    }
    const repository = await openForWriting(cli);
    const engine = await openEngine(cli, repository);
    const over = await engine.cancel(args.thread, given);
    await tell(over);
    if (out.isJson) return;
    const caller = await findWaitingCaller(engine, repository, over.thread);
    if (caller !== undefined) out.hint(`'uwf thread resume ${caller}' lets the thread that called it go on`);
  },
});

/** The thread that called a thread, if it waits for a child. */
async function findWaitingCaller(
  engine: Engine,
  repository: Repository,
  thread: ThreadId,
): Promise<ThreadId | undefined> {
  const { parent } = await engine.describe(thread);
  if (parent === null || (await findThread(repository, parent)) === undefined) return undefined;
  const { status, cause } = await engine.describe(parent);
  return status === 'suspended' && cause === 'child' ? parent : undefined;
}
