import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { loadSource } from './lib/load-source.js';
import { longThreadSources, prose, writeLongThread } from './lib/long-thread.js';
import { quietEnvironment } from './lib/quiet-environment.js';
import { runCommand } from './lib/run-command.js';
import { temporaryFolder } from './lib/temporary-folder.js';

const base = 'git fast-import';

/** Writing many nodes at once, as a trace or an import does. */
export const import_ = {
  name: 'import',
  summary: 'many nodes of 1 KiB put under a thread at once, beside the same blobs in one commit; both durable',

  async *compare({ quick, rounds = quick ? 3 : 7, folder }) {
    const count = quick ? 2000 : 10_000;
    const source = await loadSource(...longThreadSources, 'src/thread/thread-cas.ts');
    const { path: root, remove } = temporaryFolder(folder);
    const env = quietEnvironment();
    // Each writes new content into a new repository of its own.
    const texts = (round) => Array.from({ length: count }, (_, at) => prose(round * count + at, 1024));
    const makeRepository = (name) => {
      const made = path.join(root, name);
      execFileSync('git', ['init', '--quiet', made], { env });
      return made;
    };
    let git;
    let own;
    try {
      yield {
        what: `${count} nodes`,
        base,
        rounds,
        limits: { uwf: 1 },
        contestants: {
          [base]: {
            before: (round) => void (git = { cwd: makeRepository(`git-${round}`), env, input: streamOf(texts(round)) }),
            run: () => void runCommand(['git', 'fast-import', '--quiet', '--done'], git),
          },
          uwf: {
            async before(round) {
              const repository = await source.openRepository(makeRepository(`uwf-${round}`));
              const { id } = await writeLongThread(source, repository, 1);
              const nodes = texts(round).map((text) => ({ type: source.builtIn.content, payload: { text } }));
              own = { cas: source.threadCas(repository, id), nodes, repository };
            },
            async run() {
              const hashes = await own.cas.putAll(own.nodes);
              if (new Set(hashes).size !== count) throw new Error('some nodes are missing');
              await own.repository.close();
            },
          },
        },
      };
    } finally {
      remove();
    }
  },
};

function streamOf(texts) {
  const blobs = texts.map((text, at) => `blob\nmark :${at + 1}\ndata ${Buffer.byteLength(text)}\n${text}\n`);
  const files = texts.map((_, at) => `M 100644 :${at + 1} artifacts/${at}.md\n`);
  const head = 'commit refs/import\ncommitter Bench <bench@example.org> 1795262400 +0000\ndata 0\n';
  return [...blobs, head, ...files, 'done\n'].join('');
}
