import { setFlagsFromString } from 'node:v8';
import { reindex } from '../../cas/lookup/repository-nodes.ts';
import { defineCommand, type Command } from '../command.ts';
import { openToRead } from '../open-repository.ts';
import { formatCount } from '../output/time.ts';

export const command: Command = defineCommand({
  summary: 'work the local lookup out again',
  description: `Rebuilds the table that finds nodes by hash from the commits of all threads and workflows. It is never the truth: deleting it
loses nothing, and this command is needed only where another program has meddled with it.`,
  arguments: [],
  options: {},
  json: { shape: 'object', fields: { commits: 'how many commits were read', nodes: 'how many nodes they hold' } },
  examples: [{ command: 'uwf reindex', comment: 'after copying .git by hand' }],
  async run({ cli, out }) {
    // All that is read here is garbage a moment later. V8 would make room for more and more of it, 60 MB and more, where a
    // few do; it looks at these flags whenever it is about to.
    setFlagsFromString('--semi-space-growth-factor=1');
    setFlagsFromString('--heap-growing-percent=10');
    const found = await reindex(await openToRead(cli));
    await out.result(found, () => `${formatCount(found.nodes)} nodes in ${formatCount(found.commits)} commits`);
  },
});
