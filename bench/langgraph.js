import path from 'node:path';
import { importPeer, installPeers } from './lib/install-peers.js';
import { openCheckpointer } from './lib/checkpointer.js';
import { openLongThread } from './lib/long-thread-store.js';
import { temporaryFolder } from './lib/temporary-folder.js';

/** Beyond this many steps, a checkpoint with all messages takes 6 MB and more, each time. */
const mostSaidAgain = 1000;

/** uwf beside the store of LangGraph.js for threads. */
export const langgraph = {
  name: 'langgraph',
  summary: "append, read back, fork, and size: LangGraph's SQLite checkpointer, at 100, 1,000 and 10,000 steps",
  isSlow: true,

  async *compare({ quick, rounds = quick ? 10 : 50, folder }) {
    if (!installPeers()) throw new Error("LangGraph's checkpointer could not be installed");
    const peers = {
      ...(await importPeer('@langchain/langgraph-checkpoint')),
      ...(await importPeer('@langchain/langgraph-checkpoint-sqlite')),
    };
    for (const steps of quick ? [100, 1000] : [100, 1000, 10_000]) {
      const { path: root, remove } = temporaryFolder(folder);
      const uwf = await openLongThread(path.join(root, 'uwf'), steps);
      const sqlite = await openCheckpointer(peers, path.join(root, 'checkpoints.db'), steps);
      try {
        const title = `${steps.toLocaleString('en')} steps`;
        yield reading(title, uwf, sqlite, Math.min(rounds, 20));
        yield newest(title, uwf, sqlite, rounds);
        yield forking(title, uwf, sqlite, rounds);
        yield appending(title, uwf, sqlite, rounds, steps);
      } finally {
        await uwf.close();
        sqlite.close();
        remove();
      }
    }
  },
};

const base = 'LangGraph SqliteSaver';

function reading(title, uwf, sqlite, rounds) {
  const sizes = { uwf: uwf.megabytes(), sqlite: sqlite.megabytes() };
  return {
    what: `${title}: opened, all read back with all they hold`,
    base,
    rounds: Math.min(rounds, 5),
    contestants: {
      [base]: async () => ({ texts: await sqlite.readAll(), 'MB on disk': sizes.sqlite }),
      uwf: async () => ({ texts: await uwf.readAll(), 'MB on disk': sizes.uwf }),
    },
  };
}

function newest(title, uwf, sqlite, rounds) {
  return {
    what: `${title}: opened, the replies of the last 20 read`,
    base,
    rounds,
    contestants: {
      [base]: async () => ({ texts: await sqlite.readNewest(20) }),
      uwf: async () => ({ texts: await uwf.readNewest(20) }),
    },
  };
}

function forking(title, uwf, sqlite, rounds) {
  return {
    what: `${title}: forked ten steps back`,
    base,
    rounds,
    contestants: { [base]: () => sqlite.fork(), uwf: () => uwf.fork() },
  };
}

function appending(title, uwf, sqlite, rounds, steps) {
  return {
    what: `${title}: one more step of six texts of 1 KiB`,
    base,
    rounds,
    inProcess: true,
    contestants: {
      [base]: (round) => sqlite.append(round, 'NORMAL'),
      [`${base}, synchronous=FULL`]: (round) => sqlite.append(round, 'FULL'),
      ...(steps <= mostSaidAgain && {
        [`${base}, all messages in its state`]: (round) => sqlite.appendAll(round, steps),
      }),
      'uwf, durable': { before: (round) => uwf.prepare(round), run: () => uwf.append() },
    },
  };
}
