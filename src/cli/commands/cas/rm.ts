import { NodeNotFound } from '../../../cas/node-source.ts';
import { removeFromScratch } from '../../../cas/scratch.ts';
import { PINS_REF } from '../../../thread/thread-refs.ts';
import { defineCommand, type Command } from '../../command.ts';
import { openToWrite } from '../../open-repository.ts';
import { scopeOf, threadOption } from '../../thread-scope.ts';

export const command: Command = defineCommand({
  summary: 'take back what was put',
  description: `Lets go of a node that no step has taken in; git collects it in its own time. What a step has taken in stays as long as
the thread, and is refused.`,
  arguments: [{ name: 'hash', summary: "the node's hash, or its first characters" }],
  options: { thread: threadOption },
  json: { shape: 'object', fields: { hash: "the node's hash" } },
  examples: [{ command: 'uwf cas rm 3F2V04Y8ZNQWE --thread 01KAM4', comment: 'put by mistake' }],
  exitCodes: { 1: 'it was not put there', 5: 'a step has taken it in' },
  async run({ args, options, cli, out }) {
    const repository = await openToWrite(cli);
    const { cas, find } = scopeOf(cli, repository, options.thread);
    const hash = await find(args.hash);
    const isRemoved = cas ? await cas.delete(hash) : (await removeFromScratch(repository, PINS_REF, [hash])).length > 0;
    if (!isRemoved) throw new NodeNotFound(hash);
    await out.result({ hash }, () => `removed ${out.paint.id(hash)}`);
  },
});
