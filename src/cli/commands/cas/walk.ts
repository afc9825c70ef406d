import { nodesBehind } from '../../../cas/history-nodes.ts';
import type { NodeHash } from '../../../cas/hash.ts';
import type { NodesOf } from '../../../schema/refs.ts';
import { walk } from '../../../schema/walk.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { nodesOfThread } from '../../../thread/nodes-of-thread.ts';
import { defineCommand, type Command } from '../../command.ts';
import { openToRead } from '../../open-repository.ts';
import { nameOfType, titleOf } from '../../output/node.ts';
import { oneLine } from '../../output/width.ts';
import { scopeOf, threadOption } from '../../thread-scope.ts';

export const command: Command = defineCommand({
  summary: 'list all that a node or a thread reaches',
  description: `Lists a node and all that it links to, directly or through others; or every node of every commit of a thread, and all
that those link to. Each comes once: type, hash, and what it holds.`,
  arguments: [{ name: 'root', summary: 'the hash of a node, or the id of a thread; or their first characters' }],
  options: { thread: threadOption },
  json: {
    shape: 'lines',
    fields: {
      hash: "the node's hash",
      oid: 'the git object that it lies in',
      type: "its type's name or hash",
      title: 'one line of what it holds',
    },
  },
  examples: [
    { command: 'uwf cas walk 01KAM4', comment: 'all that a thread is made of' },
    { command: 'uwf cas walk 3F2V04Y8ZNQWE --json=type,hash', comment: 'what a step reaches' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
    const pointer = args.root.length === 13 ? undefined : await getThread(repository, args.root).catch(() => undefined);
    let nodes: NodesOf;
    let roots: readonly NodeHash[];
    if (pointer) {
      nodes = nodesBehind(repository, [pointer.head]);
      roots = await nodesOfThread(repository, pointer.head);
    } else {
      const scope = scopeOf(cli, repository, options.thread);
      nodes = scope.nodes;
      roots = [await scope.find(args.root)];
    }
    for await (const node of walk(nodes, roots)) {
      const type = nameOfType(node);
      const title = titleOf(node);
      const { hash, oid } = node;
      await out.line(
        { hash, oid, type, title },
        `${out.paint.id(hash)}  ${type.padEnd(14)}  ${oneLine(title).slice(0, 100)}`,
      );
    }
  },
});
