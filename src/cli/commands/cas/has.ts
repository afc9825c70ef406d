import { hashArgument } from '../../command-line/shared-arguments.ts';
import { UwfError } from '../../../errors.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { EXIT } from '../../errors/exit-code.ts';
import { openForReading } from '../../open/open-repository.ts';
import { nodeScope, threadOption } from '../../find/thread-scope.ts';

export const casHasCommand: Command = defineCommand({
  description: `Prints nothing without --json: the exit code is the answer.`,
  arguments: [hashArgument],
  options: { thread: threadOption },
  json: { hash: "the node's hash", exists: 'whether it is there', oid: 'the git object that it lies in, or null' },
  examples: [{ command: 'uwf cas has 3F2V04Y8ZNQWE && echo yes', comment: 'in a script' }],
  exitCodes: { 0: 'it is there', 1: 'it is not' },
  async run({ args, options, cli, out }) {
    const { nodes, find } = nodeScope(cli, await openForReading(cli), options.thread);
    const hash = await find(args.hash).catch((error: unknown) => {
      // Nothing that begins so: then it is not there either.
      if (error instanceof UwfError && error.code === 'usage' && args.hash.length < 13) return undefined;
      throw error;
    });
    const node = hash === undefined ? undefined : await nodes.find(hash);
    await out.result({ hash: hash ?? args.hash, exists: node !== undefined, oid: node?.oid ?? null }, () => '');
    return node === undefined ? EXIT.failed : EXIT.done;
  },
});
