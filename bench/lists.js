import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSource } from './lib/load-source.js';
import { longThreadSources, writeLongThread } from './lib/long-thread.js';
import { quietEnvironment } from './lib/quiet-environment.js';
import { command, uwfCommand } from './lib/run-command.js';
import { temporaryFolder } from './lib/temporary-folder.js';

const base = 'git for-each-ref';
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Short lists among very many threads. */
export const lists = {
  name: 'lists',
  summary: 'the newest 20 of many threads, beside the names of all by git; uwf without what Node takes to start',

  async *compare({ quick, rounds = quick ? 5 : 11, folder: parent }) {
    // In one file they are made at once. As few as 10,000 git lists before a list of twenty threads has read its code.
    const packedThreads = 100_000;
    const looseThreads = quick ? 10_000 : packedThreads;
    const source = await loadSource(...longThreadSources);
    const { path: folder, remove } = temporaryFolder(parent);
    const env = quietEnvironment();
    const title = (threads) => `the newest 20 of ${threads.toLocaleString('en')} threads`;
    try {
      execFileSync('git', ['init', '--quiet'], { cwd: folder, env });
      const repository = await source.openRepository(folder);
      const { head, id } = await writeLongThread(source, repository, 1);
      await repository.close();
      rmSync(join(folder, '.git/refs/threads', id), { force: true });
      const ids = Array.from({ length: packedThreads }, (_, at) => idOf(at));
      const packed = join(folder, '.git/packed-refs');
      const lines = ids.map((each) => `${head} refs/threads/${each}\n`);
      writeFileSync(packed, `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`);
      yield scene(`${title(packedThreads)}, packed`, { cwd: folder, env }, rounds);
      rmSync(packed);
      const loose = join(folder, '.git/refs/threads');
      mkdirSync(loose, { recursive: true });
      for (const each of ids.slice(-looseThreads)) writeFileSync(join(loose, each), `${head}\n`);
      yield scene(`${title(looseThreads)}, loose`, { cwd: folder, env }, rounds, looseThreads === packedThreads);
    } finally {
      remove();
    }
  },
};

function scene(what, options, rounds, isLimited = true) {
  const format = '--format=%(refname) %(objectname)';
  return {
    what,
    base,
    rounds,
    beyond: { 'uwf thread list -n 20': 'node -e 0' },
    limits: isLimited ? { 'uwf thread list -n 20': 1.5 } : {},
    contestants: {
      'node -e 0': command([process.execPath, '-e', '0'], options),
      [base]: command(['git', 'for-each-ref', format, 'refs/threads/'], options),
      'uwf thread list -n 20': uwfCommand(['thread', 'list', '-n', '20'], options),
    },
  };
}

/** The id of a thread that started this many ms after the first one. */
function idOf(at) {
  let text = '';
  for (let rest = 1_795_262_400_000 + at, place = 0; place < 10; place += 1, rest = Math.floor(rest / 32)) {
    text = alphabet.charAt(rest % 32) + text;
  }
  return `${text}${'0'.repeat(16)}`;
}
