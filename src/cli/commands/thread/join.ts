import { defineCommand, type Command } from '../../command.ts';
import { openEngine } from '../../engine-here.ts';
import { EXIT, exitCodeOfRun } from '../../exit-code.ts';
import { runExitCodes, showOver } from '../../follow-run.ts';
import { parseDuration } from '../../input/parse-value.ts';
import { openToRead } from '../../open-repository.ts';

export const command: Command = defineCommand({
  summary: 'wait for the process that runs a thread',
  description: `Waits until no process works on the thread any more, and says how it stands; at once if none does.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: { timeout: { value: '<span>', summary: 'give up after so long: 30s, 5min', parse: parseDuration } },
  json: {
    shape: 'object',
    fields: {
      event: 'thread.ended, .suspended, .failed, .cancelled, or thread.idle when its runner stopped before the end',
      thread: 'the thread',
      status: 'how it stands',
      returnCode: 'of a thread that is over',
      head: 'the commit that it is at',
      text: 'the summary, or what it waits for',
      role: 'of thread.suspended: whose turn waits',
      cause: 'of thread.suspended: what stopped the turn',
      suspension: "of thread.suspended: the suspension's hash",
    },
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
    const repository = await openToRead(cli);
    const engine = await openEngine(cli, repository);
    const over = await engine.join(args.thread, options.timeout === undefined ? {} : { timeoutMs: options.timeout });
    if (over === undefined) {
      const { thread, status, head } = await engine.describe(args.thread);
      await out.result({ event: 'thread.idle', thread, status, returnCode: null, head, text: '' }, () => '');
      if (!out.isJson) out.note(`thread ${thread} is ${status}: no process works on it`);
      out.hint(`'uwf thread run ${thread}' runs it on`);
      return EXIT.done;
    }
    const { event, thread, status, returnCode, head, text, ...waits } = over;
    await out.result({ event, thread, status, returnCode, head, text, ...waits }, () => '');
    if (!out.isJson) await showOver({ cli, out }, repository, over);
    return exitCodeOfRun(over);
  },
});
