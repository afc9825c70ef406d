import { makeLongThread } from './lib/long-thread-store.js';
import { quietEnvironment } from './lib/quiet-environment.js';
import { command } from './lib/run-command.js';
import { temporaryFolder } from './lib/temporary-folder.js';

const base = 'git cat-file --batch';

/** Reading all nodes, as an export, a verification and a copy do. */
export const walk = {
  name: 'walk',
  summary: 'all nodes of a long thread, hashes computed again, beside the same objects read by git',

  async *compare({ quick, rounds = quick ? 3 : 7, folder }) {
    const steps = quick ? 1000 : 10_000;
    const { path, remove } = temporaryFolder(folder);
    try {
      const { hash, open, source } = await makeLongThread(path, steps);
      const walkAll = async () => {
        const repository = await open();
        const oids = [];
        for await (const node of source.walk(repository, hash)) oids.push(node.oid);
        await repository.close();
        return oids;
      };
      const input = `${(await walkAll()).join('\n')}\n`;
      const options = { cwd: path, env: quietEnvironment(), input };
      yield {
        what: `a thread of ${steps} steps, ${input.split('\n').length - 1} nodes`,
        base,
        rounds,
        limits: { uwf: 3 },
        contestants: {
          [base]: command(['git', 'cat-file', '--batch'], options),
          uwf: async () => void (await walkAll()),
        },
      };
    } finally {
      remove();
    }
  },
};
