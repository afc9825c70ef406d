import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { prepareHashing } from '../../../cas/hash.ts';
import { importThread } from '../../../engine/verbs/import-thread.ts';
import { errnoOf } from '../../../git/format/errors.ts';
import { exportThread } from '../../../thread/export-thread.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { type Command, defineCommand, threadArgument } from '../../command-line/command.ts';
import { UsageError } from '../../errors/exit-code.ts';
import { foldGathered } from '../../open/open-config.ts';
import { openForReading, openForWriting } from '../../open/open-repository.ts';
import { harmlessJson } from '../../output/text.ts';
import type { CliEnvironment } from '../../process/cli-environment.ts';

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
    await prepareHashing();
    const pointer = await getThread(repository, args.thread);
    const lines = exportThread(repository, pointer, { withNodes: options['with-nodes'] });
    for await (const line of lines) cli.stdout.write(`${harmlessJson(line)}\n`);
  },
});

export const threadImportCommand: Command = defineCommand({
  description: `Stores the thread of a file that 'uwf thread export --with-nodes' wrote: the same nodes, commits and id. The
file is stored as a whole or not at all, after all checks of 'uwf thread verify'. If the thread follows commits of your
code, this repository must have them.`,
  arguments: [{ name: 'file', summary: "the file; '-' is stdin", candidates: 'file' }],
  json: {
    thread: 'its id',
    head: 'the commit that it is at',
    isNew: 'false if this repository had it already',
  },
  examples: [{ command: 'uwf thread import thread.jsonl', comment: 'in another repository' }],
  async run({ args, cli, out }) {
    const repository = await openForWriting(cli);
    const imported = await importThread(repository, contentOf(cli, args.file));
    const { thread, isNew } = imported;
    await out.result(imported, () =>
      isNew ? `imported thread ${out.paint.id(thread)}` : `thread ${out.paint.id(thread)} is here already`,
    );
    await foldGathered(cli, repository);
  },
});

async function* contentOf(cli: CliEnvironment, file: string): AsyncGenerator<Uint8Array | string, void, void> {
  if (file === '-') return yield* cli.stdin;
  try {
    yield* createReadStream(resolve(cli.cwd, file)) as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    const reason = error instanceof Error ? error.message.replace(/,.*$/s, '') : String(error);
    throw new UsageError(`cannot read ${file}: ${reason}`, 'paths are relative to the current folder, or to -C');
  }
}
