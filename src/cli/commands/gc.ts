import { collectGarbage } from '../../engine/maintenance/collect-garbage.ts';
import { defineCommand, type Command } from '../command-line/command.ts';
import { UwfError } from '../../errors.ts';
import { inPlaceOf } from '../../or-else.ts';
import { configHere } from '../open/open-config.ts';
import { workTreesHere } from '../open/user-folders.ts';
import { openForWriting } from '../open/open-repository.ts';
import { ProgressLine } from '../output/progress-line.ts';
import { formatFacts } from '../output/table.ts';
import { formatCount } from '../../text/wording.ts';

export const gcCommand: Command = defineCommand({
  description: `Removes files that killed processes left, local state of removed threads, journals of stored turns (with
their debug lines), output of background runs whose thread is gone, and nodes that were put under threads that are over. It
rebuilds the lookup and lets git join small packs. Other processes can go on working meanwhile. No thread is removed: use 'uwf thread rm', and 'git gc' to collect its objects.`,
  json: {
    leases: 'leases of processes that have ended',
    files: 'files of removed threads',
    journals: 'threads whose journal has nothing that is not stored',
    scratch: 'threads that are over, or were removed, under which something was put',
    snapshots: 'unfinished records of files',
    transfers: 'unfinished fetches and pushes',
    workTrees: 'work trees of threads that are over and have all their files, or whose making was interrupted',
    temporary: 'packs and objects that a killed writer left unfinished a day ago or earlier',
    lookup: 'commits and nodes that the lookup covers',
    packs: 'how many packs there were before and are after',
    removed:
      'what was removed, one by one: { kind, name, bytes }, kind being one of the counts, name a path in the git folder or a ref',
  },
  examples: [
    { command: 'uwf gc', comment: 'now and then' },
    {
      command: 'uwf thread rm --ended --before 90d && uwf gc && git gc',
      comment: 'with old threads, and the objects of both',
    },
  ],
  async run({ cli, out }) {
    const repository = await openForWriting(cli);
    // Without a sound configuration it is not known where work trees lie: all else is cleaned up.
    const config = await configHere(cli, repository).catch(inPlaceOf(UwfError, undefined));
    const workTrees = config && workTreesHere(cli.env);
    const progress = cli.stderr.isTTY === true ? new ProgressLine(cli.stderr) : undefined;
    const engine = { repository, config: config ?? {}, env: cli.env, workTrees };
    const found = await collectGarbage(engine, (line) => progress?.tell(line)).finally(() => progress?.clear());
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
          fact('work trees', 'workTrees'),
          fact('unfinished packs and objects', 'temporary'),
          ['lookup', `${formatCount(lookup.nodes)} nodes in ${formatCount(lookup.commits)} commits`],
          ['packs', `${formatCount(packs.before)} before, ${formatCount(packs.after)} after`],
        ]),
        out.format(removed, [
          { title: 'REMOVED', cell: ({ kind }) => kind },
          { title: 'BYTES', cell: ({ bytes }) => formatCount(bytes), align: 'right' },
          { title: 'NAME', cell: ({ name }) => name },
        ]),
      ]
        .filter((part) => part !== '')
        .join('\n\n'),
    );
  },
});
