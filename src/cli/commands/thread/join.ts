import { defineCommand, type Command } from '../../command-line/command.ts';
import { parseDuration } from '../../command-line/parse-value.ts';
import { threadArgument } from '../../command-line/shared-arguments.ts';
import { EXIT } from '../../errors/exit-code.ts';
import { overFields, runExitCodes, showOver } from '../../follow/follow-run.ts';
import { inOrderOfRun } from '../../follow/run-view.ts';
import { openEngine } from '../../open/open-engine.ts';
import { openForReading } from '../../open/open-repository.ts';

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
