import { hashArgument } from '../../command-line/shared-arguments.ts';
import { getNode } from '../../../cas/node.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';
import { nameOfType, contentText } from '../../output/node.ts';
import { harmless } from '../../output/width.ts';
import { nodeScope, threadOption } from '../../find/thread-scope.ts';

export const casGetCommand: Command = defineCommand({
  description: `Prints the text of a content node, and the JSON of every other. What is read is verified: its hash is computed again.`,
  arguments: [hashArgument],
  options: { thread: threadOption },
  json: {
    hash: "the node's hash",
    oid: 'the git object that it lies in',
    type: 'the schema that describes it',
    typeName: 'the name of a built-in type',
    payload: 'what it holds',
  },
  examples: [
    { command: 'uwf cas get 3F2V04Y8ZNQWE', comment: 'its text, or its JSON' },
    { command: 'uwf cas get 3F2V0 --json=type,payload', comment: 'with its type' },
  ],
  async run({ args, options, cli, out }) {
    const { nodes, find } = nodeScope(cli, await openForReading(cli), options.thread);
    const node = await getNode(nodes, await find(args.hash));
    const { hash, oid, type, payload } = node;
    const name = nameOfType(node);
    const text = contentText(node);
    const isRaw = !out.isJson && text !== undefined && cli.stdout.isTTY !== true;
    if (isRaw) cli.stdout.write(text);
    else {
      await out.result({ hash, oid, type, typeName: name === type ? null : name, payload }, () =>
        text === undefined ? JSON.stringify(payload, null, 2) : harmless(text),
      );
    }
  },
});
