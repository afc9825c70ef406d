import { collectGarbage } from '../../engine/collect-garbage.ts';
import { defineCommand, type Command } from '../command.ts';
import { openToWrite } from '../open-repository.ts';
import { formatFacts } from '../output/table.ts';
import { formatCount } from '../output/time.ts';

export const command: Command = defineCommand({
  summary: 'clean up what threads have left behind',
  description: `Removes what killed processes have left, what this machine kept of threads that were removed, journals of turns that are
stored, and what was put under threads that are over; works the lookup out again; and folds the small packs
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
    },
  },
  examples: [
    { command: 'uwf gc', comment: 'now and then' },
    { command: 'uwf thread rm --ended --before 90d && uwf gc && git gc', comment: 'and let go of what is old' },
  ],
  async run({ cli, out }) {
    const found = await collectGarbage(await openToWrite(cli), cli.env);
    const { packs, lookup } = found;
    await out.result(found, () =>
      formatFacts([
        ['stale leases', formatCount(found.leases)],
        ['orphaned files', formatCount(found.files)],
        ['told journals', formatCount(found.journals)],
        ['orphaned scratch', formatCount(found.scratch)],
        ['unfinished snapshots', formatCount(found.snapshots)],
        ['unfinished transfers', formatCount(found.transfers)],
        ['unfinished packs and objects', formatCount(found.temporary)],
        ['lookup', `${formatCount(lookup.nodes)} nodes in ${formatCount(lookup.commits)} commits`],
        ['packs', `${formatCount(packs.before)} before, ${formatCount(packs.after)} after`],
      ]),
    );
  },
});
