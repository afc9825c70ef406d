import { hashArgument } from '../../command-line/shared-arguments.ts';
import { getNode } from '../../../cas/node.ts';
import { refs } from '../../../schema/links.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';
import { nodeRow, type NodeRow } from '../../output/node.ts';
import { nodeScope, threadOption } from '../../find/thread-scope.ts';

type Row = Omit<NodeRow, 'oid'>;

export const casRefsCommand: Command = defineCommand({
  description: `Lists the links of a node in their order: the strings that its schema marks as cas_ref, and {"$cas": …} pointers anywhere.`,
  arguments: [hashArgument],
  options: { thread: threadOption },
  json: { hash: "the linked node's hash", type: "its type's name or hash", title: 'one line of what it holds' },
  examples: [{ command: 'uwf cas refs 3F2V04Y8ZNQWE', comment: 'what a step links to' }],
  async run({ args, options, cli, out }) {
    const { nodes, find } = nodeScope(cli, await openForReading(cli), options.thread);
    const rows: Row[] = [];
    for (const hash of await refs(nodes, await find(args.hash))) {
      const { type, title } = nodeRow(await getNode(nodes, hash));
      rows.push({ hash, type, title });
    }
    await out.table<Row>(rows, [
      { title: 'HASH', cell: ({ hash }) => hash, paint: out.paint.id },
      { title: 'TYPE', cell: ({ type }) => type },
      { title: 'TITLE', cell: ({ title }) => title },
    ]);
  },
});
