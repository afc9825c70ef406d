import { listScratch, isArtifact } from '../../../cas/scratch.ts';
import { getNode } from '../../../cas/node-source.ts';
import { PINS_REF } from '../../../thread/thread-refs.ts';
import { defineCommand, type Command } from '../../command.ts';
import type { NodeHash } from '../../../cas/hash.ts';
import { findReferrers, type Referrer } from '../../../thread/find-referrers.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { openToRead } from '../../open-repository.ts';
import { nameOfType, titleOf } from '../../output/node.ts';
import { formatTable } from '../../output/table.ts';
import { scopeOf, threadOption } from '../../thread-scope.ts';

type Row = {
  hash: string;
  oid: string;
  type: string;
  title: string;
  step: string | null;
  referrers?: Referrer[];
};

export const command: Command = defineCommand({
  summary: 'list what was put',
  description: `Lists what was put under a thread, oldest first, and the step that took it in; without a thread what was put without one.
'uwf cas walk' lists everything that a thread is made of.`,
  arguments: [],
  options: { thread: threadOption },
  json: {
    shape: 'list',
    fields: {
      hash: "the node's hash",
      oid: 'the git object that it lies in',
      type: "its type's name or hash",
      title: 'one line of what it holds',
      step: 'the step that took it in; null while it waits for one',
      referrers: 'the nodes of the thread that link to it, and the step that each is in',
    },
  },
  examples: [
    { command: 'uwf cas list --thread 01KAM4', comment: 'what its agents put' },
    { command: 'uwf cas list', comment: 'what was put without a thread' },
  ],
  async run({ options, cli, out }) {
    const repository = await openToRead(cli);
    const { cas, nodes } = scopeOf(cli, repository, options.thread);
    const entries = cas
      ? await cas.list()
      : (await listScratch(repository, PINS_REF)).filter(isArtifact).map(({ hash }) => ({ hash, step: undefined }));
    const thread = options.thread ?? cli.env['UWF_THREAD'];
    const referrers: ReadonlyMap<NodeHash, Referrer[]> = thread
      ? await findReferrers(
          repository,
          nodes,
          (await getThread(repository, thread)).head,
          entries.map(({ hash }) => hash),
        )
      : new Map();
    const rows: Row[] = [];
    for (const { hash, step } of entries) {
      const node = await getNode(nodes, hash);
      rows.push({
        hash,
        oid: node.oid,
        type: nameOfType(node),
        title: titleOf(node),
        step: step ?? null,
        ...(thread && { referrers: referrers.get(hash) ?? [] }),
      });
    }
    await out.result(rows, () =>
      formatTable<Row>(
        rows,
        [
          { title: 'HASH', cell: ({ hash }) => hash, paint: out.paint.id },
          { title: 'TYPE', cell: ({ type }) => type },
          ...(cas
            ? [
                { title: 'STEP', cell: ({ step }: Row) => step ?? '', paint: out.paint.quiet },
                { title: 'REFERRED BY', cell: (row: Row) => (row.referrers ?? []).map(({ hash }) => hash).join(' ') },
              ]
            : []),
          { title: 'TITLE', cell: ({ title }) => title },
        ],
        out.paint,
        cli.stdout,
      ),
    );
    if (rows.length === 0)
      out.hint(`nothing was put${cas ? ' under this thread' : '; --thread lists what was put under a thread'}`);
  },
});
