import { collectGarbage } from '../../engine/collect-garbage.ts';
import { defineCommand, type Command } from '../command.ts';
import { openToWrite } from '../open-repository.ts';
import { formatFacts, formatTable } from '../output/table.ts';
import { formatCount } from '../output/time.ts';

export const command: Command = defineCommand({
  summary: 'clean up what threads have left behind',
  description: `Removes what killed processes have left, what this machine kept of threads that were removed, journals of turns that are
stored (debug lines among them), what runs in the background printed about threads that are no more, and what was put under threads that are over; works the lookup out again; and folds the small packs
that uwf made. All other packs are left as they are. Others can go on working meanwhile. Nothing of a thread is removed: 'uwf thread rm' does
that, and 'git gc' collects it in its own time.`,
  arguments: [],
  options: {},
  json: {
    shape: 'object',
    fields: {
      leases: 'leases of processes that are no more',
      files: 'files of threads that are no more',
      journals: 'threads whose journal told nothing that is not stored',
      scratch: 'threads that are over, or are no more, under which something was put',
      snapshots: 'records of files that were never finished',
      transfers: 'fetches and pushes that were never finished',
      temporary: 'packs and objects that a killed writer left unfinished a day ago or earlier',
      lookup: 'commits and nodes that the lookup covers',
      packs: 'how many packs there were before and are after',
      removed:
        'what was removed, one by one: { kind, name, bytes }, kind being one of the counts, name a path in the git folder or a ref',
    },
  },
  examples: [
    { command: 'uwf gc', comment: 'now and then' },
    { command: 'uwf thread rm --ended --before 90d && uwf gc && git gc', comment: 'and let go of what is old' },
  ],
  async run({ cli, out }) {
    const found = await collectGarbage(await openToWrite(cli), cli.env);
    const { packs, lookup, removed } = found;
    const fact = (title: string, kind: keyof typeof found): [string, string] => {
      const items = removed.filter((item) => item.kind === kind);
      const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
      return [title, `${formatCount(items.length)}${bytes === 0 ? '' : ` (${formatCount(bytes)} bytes)`}`];
    };
    await out.result(found, () =>
      [
        formatFacts([
          fact('stale leases', 'leases'),
          fact('orphaned files', 'files'),
          fact('told journals', 'journals'),
          fact('orphaned scratch', 'scratch'),
          fact('unfinished snapshots', 'snapshots'),
          fact('unfinished transfers', 'transfers'),
          fact('unfinished packs and objects', 'temporary'),
          ['lookup', `${formatCount(lookup.nodes)} nodes in ${formatCount(lookup.commits)} commits`],
          ['packs', `${formatCount(packs.before)} before, ${formatCount(packs.after)} after`],
        ]),
        formatTable(
          removed,
          [
            { title: 'REMOVED', cell: ({ kind }) => kind },
            { title: 'BYTES', cell: ({ bytes }) => formatCount(bytes), align: 'right' },
            { title: 'NAME', cell: ({ name }) => name },
          ],
          out.paint,
          cli.stdout,
        ),
      ]
        .filter((part) => part !== '')
        .join('\n\n'),
    );
  },
});
