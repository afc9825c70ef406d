import { nodesBehind } from '../../../cas/commit-nodes.ts';
import type { NodeHash } from '../../../cas/hash.ts';
import { type NodesOf, walk } from '../../../schema/links.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { nodesOfThread } from '../../../thread/thread-cas.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';
import { nodeFields, nodeRow } from '../../output/node.ts';
import { oneLine } from '../../output/width.ts';
import { nodeScope, threadOption } from '../../find/thread-scope.ts';

export const casWalkCommand: Command = defineCommand({
  description: `Lists a node and all that it links to, directly or through others; or every node of every commit of a
thread, and all that those link to. Each node is listed once: its hash, type and title.`,
  arguments: [{ name: 'root', summary: 'the hash of a node, or the id of a thread; or their first characters' }],
  options: { thread: threadOption },
  json: nodeFields,
  examples: [
    { command: 'uwf cas walk 01KAM4', comment: 'all that a thread is made of' },
    { command: 'uwf cas walk 3F2V04Y8ZNQWE --json=type,hash', comment: 'what a step reaches' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const pointer = args.root.length === 13 ? undefined : await getThread(repository, args.root).catch(() => undefined);
    let nodes: NodesOf;
    let roots: readonly NodeHash[];
    if (pointer) {
      nodes = nodesBehind(repository, [pointer.head]);
      roots = await nodesOfThread(repository, pointer.head);
    } else {
      const scope = nodeScope(cli, repository, options.thread);
      nodes = scope.nodes;
      roots = [await scope.find(args.root)];
    }
    for await (const node of walk(nodes, roots)) {
      const row = nodeRow(node);
      const title = oneLine(row.title).slice(0, 100);
      await out.line(row, `${out.paint.id(row.hash)}  ${row.type.padEnd(14)}  ${title}`);
    }
  },
});
