import { hashArgument } from '../../command-line/shared-arguments.ts';
import { NodeNotFound } from '../../../cas/node.ts';
import { removeFromScratch } from '../../../cas/scratch.ts';
import { PINS_REF } from '../../../thread/thread-id.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForWriting } from '../../open/open-repository.ts';
import { nodeScope, threadOption } from '../../find/thread-scope.ts';

export const casRmCommand: Command = defineCommand({
  description: `Removes a node that no step has taken in; git collects it later. A node that a step has taken in stays as
long as the thread, so the command refuses it.`,
  arguments: [hashArgument],
  options: { thread: threadOption },
  json: { hash: "the node's hash" },
  examples: [{ command: 'uwf cas rm 3F2V04Y8ZNQWE --thread 01KAM4', comment: 'put by mistake' }],
  exitCodes: { 1: 'it was not put there', 5: 'a step has taken it in' },
  async run({ args, options, cli, out }) {
    const repository = await openForWriting(cli);
    const { cas, find } = nodeScope(cli, repository, options.thread);
    const hash = await find(args.hash);
    const isRemoved = cas ? await cas.delete(hash) : (await removeFromScratch(repository, PINS_REF, [hash])).length > 0;
    if (!isRemoved) throw new NodeNotFound(hash);
    await out.result({ hash }, () => `removed ${out.paint.id(hash)}`);
  },
});
