import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { appenderSources, openAppender, prose, who } from './lib/appender.js';
import { loadSource } from './lib/load-source.js';
import { quietEnvironment } from './lib/quiet-environment.js';
import { command } from './lib/run-command.js';
import { temporaryFolder } from './lib/temporary-folder.js';
import { toldSteps } from './lib/told-steps.js';

const files = 300;
const commits = 300;
const longestFoldingMs = 60_000;
const restMs = 20;
/** The number of packs from which on they are repacked. */
const mostSmallPacks = 10;
const commands = [
  ['git', 'log', '-1'],
  ['git', 'status', '--porcelain'],
];

/** The effect of a long run on git in the same repository. */
export const folding = {
  name: 'folding',
  summary: 'git log, git status and the disk while a thread is written, beside a repository without one',
  isSlow: true,

  async *compare({ quick, rounds = quick ? 20 : 100, folder }) {
    const source = await loadSource(...appenderSources, 'src/git/maintenance/repack.ts');
    const { path: root, remove } = temporaryFolder(folder);
    const [without, busy] = [path.join(root, 'without'), path.join(root, 'busy')];
    try {
      const env = quietEnvironment();
      makeRepository(without, env);
      cpSync(without, busy, { recursive: true, preserveTimestamps: true });
      for (const cwd of [without, busy]) execFileSync('git', ['status'], { cwd, env });
      const before = bytesBelow(objectsOf(busy));
      const { repository, append } = await openAppender(source, busy);
      const { location, stateDir } = repository;
      const draft = toldSteps(source);
      let steps = 0;
      const step = async () => append(draft((steps += 1)));
      const fold = () => source.repackInBackground({ location, stateDir }, env);
      /** Appends steps until there is something to repack. @returns the running process */
      const stepsToFold = async () => {
        for (;;) {
          const started = fold();
          if (started !== undefined) return started;
          await step();
        }
      };
      const warm = async (argv, ahead) => {
        await ahead?.();
        // The same pause for each contestant after this process's work and after another git.
        await sleep(restMs);
        command(argv, { cwd: busy, env })();
      };
      /**
       * @param {string[]} argv
       * @param {{ what: string, stretch?: number, ahead?: () => unknown, amid?: () => unknown }} options
       */
      const beside = (argv, { what, ahead, amid, ...more }) => ({
        what: `${argv.join(' ')}, ${what}`,
        base: 'no thread',
        rounds,
        limits: { 'a thread runs': 1.2 },
        ...more,
        contestants: {
          'no thread': { before: () => warm(argv, ahead), run: command(argv, { cwd: without, env }) },
          'a thread runs': {
            before: () => warm(argv, amid),
            run: command(argv, { cwd: busy, env }),
            after: () => ({ packs: source.countPacks({ location, env }) }),
          },
        },
      });

      const perRound = Math.ceil(500 / rounds);
      for (const argv of commands) {
        yield beside(argv, {
          what: `between the steps of a run of ${perRound * (rounds + 1)}`,
          stretch: 20,
          ahead: async () => {
            for (let count = 0; count < perRound; count += 1) {
              await fold()?.settled(longestFoldingMs);
              await step();
            }
          },
        });
      }
      await (await stepsToFold()).settled(longestFoldingMs);
      while (source.countPacks({ location, env }) < mostSmallPacks) await step();
      for (const argv of commands) yield beside(argv, { what: 'with as many packs as there may be' });
      for (const argv of commands) {
        let running;
        yield beside(argv, {
          what: 'while steps are folded, beside one while nothing runs',
          ahead: () => running?.settled(longestFoldingMs),
          amid: async () => {
            running = await stepsToFold();
          },
        });
        await running?.settled(longestFoldingMs);
      }
      const mb = () => ({ 'MB for 1,000 steps': (((bytesBelow(objectsOf(busy)) - before) / steps) * 1000) / 1e6 });
      yield {
        what: `all ${steps} steps, folded in the background, and by uwf gc`,
        base: 'as it is',
        rounds: 1,
        contestants: {
          'as it is': { run: () => {}, after: mb },
          'uwf gc': { run: () => source.repack({ location, env }), after: mb },
        },
      };
      await repository.close();
    } finally {
      remove();
    }
  },
};

/** A repository of a few hundred files and commits, after `git gc`. */
function makeRepository(folder, env) {
  mkdirSync(folder);
  const git = (...argv) => execFileSync('git', argv, { cwd: folder, env, stdio: 'ignore' });
  const commit = (message) =>
    git(
      '-c',
      `user.name=${who.name}`,
      '-c',
      `user.email=${who.email}`,
      'commit',
      '--quiet',
      '--all',
      '--message',
      message,
    );
  git('init', '--quiet');
  for (let number = 0; number < files; number += 1) {
    const below = path.join(folder, `part-${number % 12}`);
    mkdirSync(below, { recursive: true });
    writeFileSync(path.join(below, `${number}.md`), prose(number, 0));
  }
  git('add', '--all');
  for (let number = 0; number < commits; number += 1) {
    writeFileSync(path.join(folder, `part-${number % 12}`, `${number % files}.md`), prose(number, 1));
    commit(`change ${number}`);
  }
  git('gc', '--quiet');
}

function objectsOf(folder) {
  return path.join(folder, '.git/objects');
}

function bytesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => {
      // Repacking may remove it at this moment.
      return sum + (statSync(path.join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0);
    }, 0);
}
