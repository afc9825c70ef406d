import { threadArgument } from '../../command-line/shared-arguments.ts';
import { exportThread } from '../../../thread/export-thread.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';
import { harmlessJson } from '../../output/width.ts';

export const threadExportCommand: Command = defineCommand({
  description: `Prints a line for the start of the thread, one for each turn, suspension and resumption, and one for the end, each with
role, content, meta and timestamp; every reference in them is { "$cas": "<hash>" }. With --with-nodes the nodes and commits follow, so that
'uwf thread import' can store the same thread in another repository.`,
  arguments: [threadArgument],
  options: { 'with-nodes': { summary: 'write all that it takes to import it' } },
  examples: [
    { command: 'uwf thread export 01KAM4', comment: 'who said what, for other programs' },
    { command: 'uwf thread export 01KAM4 --with-nodes > thread.jsonl', comment: 'the whole thread in a file' },
  ],
  async run({ args, options, cli }) {
    const repository = await openForReading(cli);
    const { prepareHashing } = await import('../../../cas/hash.ts');
    await prepareHashing();
    const pointer = await getThread(repository, args.thread);
    const lines = exportThread(repository, pointer, { withNodes: options['with-nodes'] });
    for await (const line of lines) cli.stdout.write(`${harmlessJson(line)}\n`);
  },
});
