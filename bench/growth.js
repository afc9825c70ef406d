import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSource } from './lib/load-source.js';
import { longThreadSources, writeLongThread } from './lib/long-thread.js';
import { writeManyThreads } from './lib/many-threads.js';
import { workflow } from './lib/one-role.js';
import { quietEnvironment } from './lib/quiet-environment.js';
import { runCommand, uwf, uwfCommand } from './lib/run-command.js';
import { temporaryFolder } from './lib/temporary-folder.js';

const env = {
  ...quietEnvironment(),
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b',
};

/** Rules that look at the newest step and at what roles add up to, as most rules do. */
const when = "$visits('writer') > 1000000 or $steps[-1].meta.x or $first('writer').x or $last('writer').x";
const { moderator } = workflow;
const definition = {
  ...workflow,
  moderator: [...moderator.slice(0, 1), { from: 'writer', to: '__end__', when }, ...moderator.slice(1)],
};

const config = `
agents:
  cat: { package: "builtin:command", config: { argv: [printf, "---\\n$status: done\\n---\\nfine\\n"] } }
defaultAgent: cat
limits: { maxSteps: 1000000 }
`;

/**
 * What grows: `make` prepares a repository of a size, at most `most`, and returns the thread that the commands are about. Before each of
 * the commands `afterStep`, the thread gets a step that is not timed. `limits` says how many times as long a command may take beside the
 * most there is as beside the least. For commands of one thread, `.git/uwf` is deleted before each: a thread's head tells everything.
 *
 * @type {Record<string, { make: (source: any, folder: string, size: number) => Promise<string>, commands: Record<string, (thread: string) => string[]>, afterStep?: Record<string, (folder: string) => { cwd: string, words: string[] }>, limits?: Record<string, number>, most?: number }>}
 */
const axes = {
  steps: {
    async make(source, folder, steps) {
      const thread = await withThread(source, folder, steps);
      const { reader, bare } = besides(folder);
      git('.', 'init', '--quiet', reader);
      git(reader, 'remote', 'add', 'origin', folder);
      git(reader, 'fetch', '--quiet', 'origin', 'refs/threads/*:refs/threads/*');
      git('.', 'clone', '--quiet', '--bare', folder, bare);
      git(bare, 'fetch', '--quiet', folder, 'refs/threads/*:refs/threads/*');
      git(folder, 'remote', 'add', 'bare', bare);
      return thread;
    },
    commands: {
      'thread step': (thread) => ['thread', 'step', thread],
      'thread poke': (thread) => ['thread', 'poke', '-p', 'better', thread],
      'thread context': (thread) => ['thread', 'context', thread],
      'thread read -n 5': (thread) => ['thread', 'read', '-n', '5', thread],
      'step list -n 5': (thread) => ['step', 'list', '-n', '5', thread],
      'thread fork': (thread) => ['thread', 'fork', thread],
      'thread show': (thread) => ['thread', 'show', thread],
      'log -n 20': (thread) => ['log', '-n', '20', thread],
      'thread verify': (thread) => ['thread', 'verify', thread],
    },
    limits: {
      'thread step': 1.4,
      'thread context': 1.4,
      'step list -n 5': 1.4,
      'thread show': 1.4,
      'log -n 20': 1.4,
    },
    afterStep: {
      'fetch of one step': (folder) => ({ cwd: besides(folder).reader, words: ['fetch', 'origin'] }),
      'push of one step': (folder) => ({ cwd: folder, words: ['push', '--all', 'bare'] }),
    },
  },
  threads: {
    async make(source, folder, threads) {
      const repository = await source.openRepository(folder);
      const { oldest } = await writeManyThreads(source, repository, threads - 1, { definition });
      await repository.close();
      await withThread(source, folder, 4);
      git(folder, 'pack-refs', '--all');
      return oldest;
    },
    commands: {
      'thread list': () => ['thread', 'list'],
      'thread list -n 20': () => ['thread', 'list', '-n', '20'],
      fsck: () => ['fsck'],
      'thread show': (thread) => ['thread', 'show', thread],
      'thread step': (thread) => ['thread', 'step', thread],
      'thread start': () => ['thread', 'start', 'long', '-p', 'Write.'],
    },
    limits: { 'thread list -n 20': 1.5 },
  },
  rules: {
    // A file of a workflow has at most 128 KiB.
    most: 1_900,
    make: (source, folder, rules) => withThread(source, folder, 4, rules),
    commands: {
      'workflow validate': () => ['workflow', 'validate', 'long'],
      'thread start': () => ['thread', 'start', 'long', '-p', 'Write.'],
      'thread step': (thread) => ['thread', 'step', thread],
    },
  },
  files: {
    async make(source, folder, files) {
      for (let at = 0; at < files; at += 1) {
        const path = join(folder, `src/${at % 100}`);
        mkdirSync(path, { recursive: true });
        writeFileSync(join(path, `${at}.txt`), `file ${at}\n`);
      }
      const thread = await withThread(source, folder, 4, 0, 'snapshot: { mode: on }\n');
      git(folder, 'add', '--all');
      git(folder, 'commit', '--quiet', '--message', 'Files');
      return thread;
    },
    commands: { 'thread step': (thread) => ['thread', 'step', thread] },
  },
};

/** How the time of each command grows with what there already is. */
export const growth = {
  name: 'growth',
  summary: 'commands beside ever more steps, threads, rules and files; an exponent of 0 is no growth, of 1 is linear',
  isSlow: true,

  async *compare({ quick, rounds = quick ? 3 : 5, folder: parent }) {
    const sizes = quick ? [20, 200, 2_000] : [20, 200, 2_000, 20_000];
    const source = await loadSource(...longThreadSources);
    for (const [axis, { make, commands, afterStep = {}, limits = {}, most = Infinity }] of Object.entries(axes)) {
      const { path, remove } = temporaryFolder(parent);
      try {
        /** @type {Map<string, { cwd: string, thread: string, size: number }>} */
        const places = new Map();
        for (const size of new Set(sizes.map((each) => Math.min(each, most)))) {
          const cwd = join(path, String(size));
          git('.', 'init', '--quiet', cwd);
          places.set(`${size.toLocaleString('en')} ${axis}`, { cwd, thread: await make(source, cwd, size), size });
        }
        const [base = ''] = places.keys();
        const by = new Map([...places].map(([at, { size }]) => [at, size]));
        for (const [name, words] of Object.entries(commands)) {
          const all = [...places].map(([at, { cwd, thread }]) => {
            const timed = uwfCommand(words(thread), { cwd, env });
            return [at, axis === 'steps' && name in limits ? withoutState(timed, cwd) : timed];
          });
          const larger = [...places.keys()].slice(1).map((at) => [at, limits[name]]);
          const bounds = name in limits ? { limits: Object.fromEntries(larger) } : {};
          yield { what: `uwf ${name}`, base, rounds, contestants: Object.fromEntries(all), sizes: by, ...bounds };
        }
        for (const [name, of] of Object.entries(afterStep)) {
          const all = [...places].map(([at, { cwd: folder, thread }]) => {
            const { cwd, words } = of(folder);
            const { before, ...timed } = uwfCommand(words, { cwd, env });
            const step = () => void runCommand([process.execPath, uwf, 'thread', 'step', thread], { cwd: folder, env });
            return [at, { ...timed, before: () => [step, before, step].forEach((each) => each()) }];
          });
          yield { what: `uwf ${name}`, base, rounds, contestants: Object.fromEntries(all), sizes: by };
        }
      } finally {
        remove();
      }
    }
  },
};

/** Deletes all that uwf remembers of a repository before each run. */
function withoutState({ before, ...timed }, folder) {
  const forget = () => rmSync(join(folder, '.git/uwf'), { recursive: true, force: true });
  return { ...timed, before: () => [before, forget].forEach((each) => each()) };
}

/** The repositories beside one: a copy that fetches from it, and one that it pushes to. */
function besides(folder) {
  return { reader: `${folder}-reader`, bare: `${folder}-bare` };
}

/** Writes a thread of some steps, and the workflow and configuration that it goes on with. */
async function withThread(source, folder, steps, rules = 0, more = '') {
  const others = Array.from({ length: rules }, (_, at) => ({
    from: 'writer',
    to: '__end__',
    when: `$start.depth + 1 = ${at + 2}`,
  }));
  const { moderator } = definition;
  const grown = { ...definition, moderator: [...moderator.slice(0, -1), ...others, ...moderator.slice(-1)] };
  const repository = await source.openRepository(folder);
  const { id } = await writeLongThread(source, repository, steps, { definition: grown, bytes: 300 });
  await repository.close();
  git(folder, 'repack', '-a', '-d', '-q');
  mkdirSync(join(folder, '.uwf/workflows'), { recursive: true });
  writeFileSync(join(folder, '.uwf/config.yaml'), `${config}${more}`);
  writeFileSync(join(folder, '.uwf/workflows/long.yaml'), JSON.stringify(grown));
  return id;
}

function git(cwd, ...argv) {
  const last = argv.at(-1);
  const { input } = typeof last === 'object' ? argv.pop() : { input: '' };
  return execFileSync('git', argv, { cwd, env, input, stdio: ['pipe', 'pipe', 'ignore'] })
    .toString()
    .trim();
}
