import { getNode } from '../../../cas/node-source.ts';
import { refs } from '../../../schema/refs.ts';
import { defineCommand, type Command } from '../../command.ts';
import { openToRead } from '../../open-repository.ts';
import { nameOfType, titleOf } from '../../output/node.ts';
import { formatTable } from '../../output/table.ts';
import { scopeOf, threadOption } from '../../thread-scope.ts';

type Row = { hash: string; type: string; title: string };

export const command: Command = defineCommand({
  summary: 'list the nodes that a node links to',
  description: `Lists the links of a node in the order in which they stand in it: what its schema marks as cas_ref, and {"$cas": …}
pointers anywhere.`,
  arguments: [{ name: 'hash', summary: "the node's hash, or its first characters" }],
  options: { thread: threadOption },
  json: {
    shape: 'list',
    fields: { hash: "the linked node's hash", type: "its type's name or hash", title: 'one line of what it holds' },
  },
  examples: [{ command: 'uwf cas refs 3F2V04Y8ZNQWE', comment: 'what a step links to' }],
  async run({ args, options, cli, out }) {
    const { nodes, find } = scopeOf(cli, await openToRead(cli), options.thread);
    const rows: Row[] = [];
    for (const hash of await refs(nodes, await find(args.hash))) {
      const node = await getNode(nodes, hash);
      rows.push({ hash, type: nameOfType(node), title: titleOf(node) });
    }
    await out.result(rows, () =>
      formatTable<Row>(
        rows,
        [
          { title: 'HASH', cell: ({ hash }) => hash, paint: out.paint.id },
          { title: 'TYPE', cell: ({ type }) => type },
          { title: 'TITLE', cell: ({ title }) => title },
        ],
        out.paint,
        cli.stdout,
      ),
    );
  },
});
