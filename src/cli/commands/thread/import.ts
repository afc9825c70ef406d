import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { importThread } from '../../../engine/verbs/import-thread.ts';
import { errnoOf } from '../../../git/format/errors.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { foldGathered } from '../../open/fold-gathered.ts';
import type { CliEnvironment } from '../../process/cli-environment.ts';
import { openForWriting } from '../../open/open-repository.ts';
import { UsageError } from '../../errors/usage-error.ts';

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
