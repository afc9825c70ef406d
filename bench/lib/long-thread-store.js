import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { appenderSources, draftStep, who } from './appender.js';
import { loadSource } from './load-source.js';
import { longThreadSources, writeLongThread } from './long-thread.js';
import { quietEnvironment } from './quiet-environment.js';

const sources = [
  ...new Set([...appenderSources, ...longThreadSources]),
  'src/cas/lookup.ts',
  'src/git/maintenance/repack.ts',
  'src/schema/links.ts',
  'src/thread/find-thread.ts',
  'src/thread/thread-verbs.ts',
  'src/thread/read-said.ts',
  'src/thread/thread-state.ts',
];

/**
 * Makes a repository with one thread of many steps, repacked and with a warm lookup.
 *
 * @returns the thread's id, its head, the hash of its last step, the modules, and a function that runs git
 */
export async function makeLongThread(folder, steps) {
  const env = quietEnvironment();
  const git = (...argv) =>
    execFileSync('git', argv, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim();
  mkdirSync(folder, { recursive: true });
  git('init', '--quiet');
  const source = await loadSource(...sources);
  const open = () => source.openRepository(folder, { committer: who });
  const repository = await open();
  const thread = await writeLongThread(source, repository, steps);
  git('repack', '-a', '-d', '-q');
  await source.reindex(repository);
  await repository.close();
  return { ...thread, source, git, open };
}

/** Opens such a repository, with the operations of contestants. */
export async function openLongThread(folder, steps) {
  const { source, git, open, ...thread } = await makeLongThread(folder, steps);
  const env = quietEnvironment();
  const repository = await open();
  const forkPoint = git('rev-parse', `${thread.head}~10`);
  let state = await source.readState(repository, thread.id, thread.head);
  let draft;
  let filesBefore = 0;

  return {
    megabytes: () => bytesBelow(path.join(folder, '.git', 'objects')) / 1e6,
    /** Reads every node of the thread and computes its hash again; counts only texts. */
    async readAll() {
      const other = await open();
      let texts = 0;
      for await (const { typeName } of source.walk(other, thread.hash)) {
        if (typeName === 'content' || typeName === 'thread-step') texts += 1;
      }
      await other.close();
      return texts;
    },
    async readNewest(count) {
      const other = await open();
      const said = await source.readSaid(other, thread.id, { limit: count });
      await other.close();
      return said.length;
    },
    async fork() {
      await source.forkThread(repository, { id: thread.id, head: thread.head }, forkPoint);
    },
    /** Makes the next step's draft, and repacks the packs of earlier steps, as the engine does while an agent works. */
    async prepare(round) {
      draft = draftStep(source, steps + round + 1);
      const place = { location: repository.location, env };
      if (source.countPacks(place) >= 24) await source.repack(place);
      filesBefore = countFiles(folder);
    },
    /** The state after the last step. */
    look: () => ({ 'new files': countFiles(folder) - filesBefore }),
    async append() {
      state = await source.appendStep(repository, state, draft);
    },
    close: () => repository.close(),
  };
}

function countFiles(folder) {
  const inGit = (name) => readdirSync(path.join(folder, '.git', name), { recursive: true }).length;
  return inGit('objects') + inGit('refs');
}

function bytesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
}
