import { reindex } from '../../cas/lookup/repository-nodes.ts';
import { defineCommand, type Command } from '../command.ts';
import { openToRead } from '../open-repository.ts';
import { formatCount } from '../output/time.ts';

export const command: Command = defineCommand({
  summary: 'work the local lookup out again',
  description: `Rebuilds the table that finds nodes by hash from the commits of all threads and workflows. It is never the truth: deleting it
loses nothing, and this command is needed only where somebody has meddled with it.`,
  arguments: [],
  options: {},
  json: { shape: 'object', fields: { commits: 'how many commits were read', nodes: 'how many nodes they hold' } },
  examples: [{ command: 'uwf reindex', comment: 'after copying .git by hand' }],
  async run({ cli, out }) {
    const found = await reindex(await openToRead(cli));
    await out.result(found, () => `${formatCount(found.nodes)} nodes in ${formatCount(found.commits)} commits`);
  },
});
