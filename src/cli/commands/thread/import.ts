import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { importThread } from '../../../engine/import-thread.ts';
import { errnoOf } from '../../../git/object-errors.ts';
import { defineCommand, type Command } from '../../command.ts';
import type { CliContext } from '../../context.ts';
import { openToWrite } from '../../open-repository.ts';
import { UsageError } from '../../usage-error.ts';

export const command: Command = defineCommand({
  summary: 'store a thread that was exported',
  description: `Stores the thread of a file that 'uwf thread export --with-nodes' wrote: the same nodes, commits and id. The file is taken
whole or not at all: everything that 'uwf thread verify' checks is checked first. A thread that stands on commits of the code
needs those in this repository.`,
  arguments: [{ name: 'file', summary: "the file; '-' is stdin", candidates: 'file' }],
  options: {},
  json: {
    shape: 'object',
    fields: {
      thread: 'its id',
      head: 'the commit that it is at',
      isNew: 'false if this repository had it already',
    },
  },
  examples: [{ command: 'uwf thread import thread.jsonl', comment: 'in another repository' }],
  async run({ args, cli, out }) {
    const repository = await openToWrite(cli);
    const imported = await importThread(repository, contentOf(cli, args.file));
    const { thread, isNew } = imported;
    await out.result(imported, () =>
      isNew ? `imported thread ${out.paint.id(thread)}` : `thread ${out.paint.id(thread)} is here already`,
    );
  },
});

async function* contentOf(cli: CliContext, file: string): AsyncGenerator<Uint8Array | string, void, void> {
  if (file === '-') return yield* cli.stdin;
  try {
    yield* createReadStream(resolve(cli.cwd, file)) as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    const reason = error instanceof Error ? error.message.replace(/,.*$/s, '') : String(error);
    throw new UsageError(`cannot read ${file}: ${reason}`, 'paths are relative to the current folder, or to -C');
  }
}
