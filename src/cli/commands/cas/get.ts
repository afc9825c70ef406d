import { nodesBehind } from '../../../cas/commit-nodes.ts';
import type { NodeHash } from '../../../cas/hash.ts';
import { encodeNode, getNode } from '../../../cas/node.ts';
import { isArtifact, listScratch } from '../../../cas/scratch.ts';
import { UwfError } from '../../../errors.ts';
import { type NodesOf, refs, walk } from '../../../schema/links.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { findReferrers, nodesOfThread, type Referrer } from '../../../thread/thread-cas.ts';
import { PINS_REF } from '../../../thread/thread-id.ts';
import { type Command, defineCommand, hashArgument } from '../../command-line/command.ts';
import { EXIT } from '../../errors/exit-code.ts';
import {
  contentText,
  nameOfType,
  nodeFields,
  nodeRow,
  type NodeRow,
  nodeScope,
  threadOption,
} from '../../find/find-node.ts';
import { openForReading } from '../../open/open-repository.ts';
import { harmless, oneLine } from '../../output/text.ts';

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

type Row = NodeRow & { step: string | null; referrers?: Referrer[] };

export const casListCommand: Command = defineCommand({
  description: `Lists the nodes that were put under a thread, oldest first, with the step that took each in. Without a
thread it lists the nodes that were put under none. 'uwf cas walk' lists everything that a thread is made of.`,
  options: { thread: threadOption },
  json: {
    ...nodeFields,
    step: 'the step that took it in; null while it waits for one',
    referrers: 'the nodes of the thread that link to it, and the step that each is in',
  },
  examples: [
    { command: 'uwf cas list --thread 01KAM4', comment: 'what its agents put' },
    { command: 'uwf cas list', comment: 'what was put without a thread' },
  ],
  async run({ options, cli, out }) {
    const repository = await openForReading(cli);
    const { cas, nodes } = nodeScope(cli, repository, options.thread);
    const entries = cas
      ? await cas.list()
      : (await listScratch(repository, PINS_REF)).filter(isArtifact).map(({ hash }) => ({ hash, step: undefined }));
    const thread = options.thread ?? cli.env['UWF_THREAD'];
    const head = thread && (await getThread(repository, thread)).head;
    const hashes = entries.map(({ hash }) => hash);
    const referrers: ReadonlyMap<NodeHash, Referrer[]> = head
      ? await findReferrers(repository, nodes, head, hashes)
      : new Map();
    const rows: Row[] = [];
    for (const { hash, step } of entries) {
      rows.push({
        ...nodeRow(await getNode(nodes, hash)),
        step: step ?? null,
        ...(thread && { referrers: referrers.get(hash) ?? [] }),
      });
    }
    await out.table<Row>(rows, [
      { title: 'HASH', cell: ({ hash }) => hash, paint: out.paint.id },
      { title: 'TYPE', cell: ({ type }) => type },
      ...(cas
        ? [
            { title: 'STEP', cell: ({ step }: Row) => step ?? '', paint: out.paint.quiet },
            { title: 'REFERRED BY', cell: (row: Row) => (row.referrers ?? []).map(({ hash }) => hash).join(' ') },
          ]
        : []),
      { title: 'TITLE', cell: ({ title }) => title },
    ]);
    if (rows.length === 0)
      out.hint(`nothing was put${cas ? ' under this thread' : '; --thread lists what was put under a thread'}`);
  },
});

type LinkRow = Omit<NodeRow, 'oid'>;

export const casRefsCommand: Command = defineCommand({
  description: `Lists the links of a node in their order: the strings that its schema marks as cas_ref, and {"$cas": …} pointers anywhere.`,
  arguments: [hashArgument],
  options: { thread: threadOption },
  json: { hash: "the linked node's hash", type: "its type's name or hash", title: 'one line of what it holds' },
  examples: [{ command: 'uwf cas refs 3F2V04Y8ZNQWE', comment: 'what a step links to' }],
  async run({ args, options, cli, out }) {
    const { nodes, find } = nodeScope(cli, await openForReading(cli), options.thread);
    const rows: LinkRow[] = [];
    for (const hash of await refs(nodes, await find(args.hash))) {
      const { type, title } = nodeRow(await getNode(nodes, hash));
      rows.push({ hash, type, title });
    }
    await out.table<LinkRow>(rows, [
      { title: 'HASH', cell: ({ hash }) => hash, paint: out.paint.id },
      { title: 'TYPE', cell: ({ type }) => type },
      { title: 'TITLE', cell: ({ title }) => title },
    ]);
  },
});

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
