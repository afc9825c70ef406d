import { listScratch, isArtifact } from '../../../cas/scratch.ts';
import { getNode } from '../../../cas/node.ts';
import { PINS_REF } from '../../../thread/thread-id.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import type { NodeHash } from '../../../cas/hash.ts';
import { findReferrers, type Referrer } from '../../../thread/thread-cas.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { openForReading } from '../../open/open-repository.ts';
import { nodeFields, nodeRow, type NodeRow } from '../../output/node.ts';
import { nodeScope, threadOption } from '../../find/thread-scope.ts';

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
