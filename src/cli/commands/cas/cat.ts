import { hashArgument } from '../../command-line/shared-arguments.ts';
import { encodeNode, getNode } from '../../../cas/node.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';
import { harmless } from '../../output/width.ts';
import { nodeScope, threadOption } from '../../find/thread-scope.ts';

export const casCatCommand: Command = defineCommand({
  description: `Prints the blob that a node lies in, as git has it: canonical JSON of its type and payload, or the plain text of a content
node.`,
  arguments: [hashArgument],
  options: { thread: threadOption },
  examples: [{ command: 'uwf cas cat 3F2V04Y8ZNQWE | git hash-object --stdin', comment: 'the id of its blob' }],
  async run({ args, options, cli, out }) {
    const { nodes, find } = nodeScope(cli, await openForReading(cli), options.thread);
    const { type, payload } = await getNode(nodes, await find(args.hash));
    // A node is stored in one form only, and reading has verified that this one is: encoding it gives its bytes.
    const { blob } = encodeNode(type, payload);
    // A terminal obeys what is in a text; a pipe takes the bytes.
    if (cli.stdout.isTTY === true) await out.result({}, () => harmless(Buffer.from(blob).toString('utf8')));
    else cli.stdout.write(blob);
  },
});
