import { setFlagsFromString } from 'node:v8';
import { reindex } from '../../cas/lookup.ts';
import { defineCommand, type Command } from '../command-line/command.ts';
import { openForReading } from '../open/open-repository.ts';
import { formatCount } from '../../text/wording.ts';

export const reindexCommand: Command = defineCommand({
  description: `Rebuilds the table that finds nodes by hash from the commits of all threads and workflows. The table is a
cache: deleting it loses nothing. This command is needed only if another program has changed it.`,
  json: { commits: 'how many commits were read', nodes: 'how many nodes they hold' },
  examples: [{ command: 'uwf reindex', comment: 'after copying .git by hand' }],
  async run({ cli, out }) {
    // Everything that is read here is garbage a moment later. Without these flags V8 grows its heap to 60 MB and more instead
    // of collecting it. V8 reads them each time before it grows the heap.
    setFlagsFromString('--semi-space-growth-factor=1');
    setFlagsFromString('--heap-growing-percent=10');
    const found = await reindex(await openForReading(cli));
    await out.result(found, () => `${formatCount(found.nodes)} nodes in ${formatCount(found.commits)} commits`);
  },
});
