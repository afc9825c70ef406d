import path from 'node:path';
import { openLongThread } from './lib/long-thread-store.js';
import { openGitPlumbing, openIsomorphicGit } from './lib/plain-appenders.js';
import { temporaryFolder } from './lib/temporary-folder.js';

const base = 'isomorphic-git, not synced';

/** The cost of storing a step. */
export const append = {
  name: 'append',
  summary: 'a step of six nodes of 1 KiB, two trees, a commit and a ref, durable',

  async *compare({ quick, rounds = quick ? 50 : 300, folder }) {
    const { path: root, remove } = temporaryFolder(folder);
    const uwf = await openLongThread(path.join(root, 'short'), 20);
    const isomorphicGit = await openIsomorphicGit(path.join(root, 'isomorphic-git'));
    const plumbing = openGitPlumbing(path.join(root, 'plumbing'));
    try {
      yield {
        what: 'a step appended',
        base,
        rounds,
        inProcess: true,
        limits: { 'uwf, durable': 1 / 3 },
        contestants: {
          [base]: (round) => isomorphicGit(round),
          ...(!quick && { 'git plumbing, ten processes': (round) => plumbing(round) }),
          'uwf, durable': appending(uwf),
        },
      };
      if (quick) return;
      const long = await openLongThread(path.join(root, 'long'), 10_000);
      yield {
        what: 'a step appended to a thread of 10,000, beside one of a few hundred',
        base: 'short',
        rounds: Math.min(rounds, 100),
        inProcess: true,
        limits: { long: 1.2 },
        contestants: { short: appending(uwf), long: appending(long) },
      };
      await long.close();
    } finally {
      await uwf.close();
      remove();
    }
  },
};

function appending(thread) {
  return { before: (round) => thread.prepare(round), run: () => thread.append(), after: () => thread.look() };
}
