import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { appenderSources, openAppender, prose, who } from './lib/appender.js';
import { loadSource } from './lib/load-source.js';
import { quietEnvironment } from './lib/quiet-environment.js';
import { command } from './lib/run-command.js';
import { temporaryFolder } from './lib/temporary-folder.js';

const files = 200;
const stepsPerRound = 5;
const agentWorksMs = 30;

/** What a long run does to the repository it lives in. */
export const folding = {
  name: 'folding',
  summary:
    'git log and git status while a thread runs and is folded in the background, beside a repository without one',
  isSlow: true,

  async *compare({ quick, rounds = quick ? 40 : 200, folder }) {
    const source = await loadSource(...appenderSources, 'src/git/native/fold-in-background.ts');
    const { path: root, remove } = temporaryFolder(folder);
    const [without, busy] = [path.join(root, 'without'), path.join(root, 'busy')];
    try {
      makeRepository(without);
      cpSync(without, busy, { recursive: true, preserveTimestamps: true });
      const env = quietEnvironment();
      execFileSync('git', ['status'], { cwd: busy, env });
      const bytesBefore = bytesBelow(objectsOf(busy));
      const { repository, draft, append } = await openAppender(source, busy);
      let steps = 0;
      const work = async () => {
        for (let count = 0; count < stepsPerRound; count += 1) {
          await append(draft((steps += 1)));
          source.foldInBackground(repository.location, repository.stateDir, env);
          await sleep(agentWorksMs);
        }
      };
      for (const argv of [
        ['git', 'log', '-1'],
        ['git', 'status', '--porcelain'],
      ]) {
        yield {
          what: `${argv.join(' ')}, while a thread gets ${(rounds + 1) * stepsPerRound} steps`,
          base: 'no thread',
          rounds,
          stretch: 20,
          limits: { 'a thread runs': 1.2 },
          contestants: {
            'no thread': { before: work, run: command(argv, { cwd: without, env }) },
            'a thread runs': {
              // As long after the last step, and as cold.
              before: () => sleep(agentWorksMs),
              run: command(argv, { cwd: busy, env }),
              after: () => ({ packs: packsOf(busy) }),
            },
          },
        };
      }
      await repository.close();
      // The last folding goes on in a process of its own.
      await sleep(2000);
      yield {
        what: `all ${steps} steps folded once more`,
        base: 'git repack --geometric=2 -d',
        rounds: 1,
        contestants: {
          'git repack --geometric=2 -d': {
            run: command(['git', 'repack', '--geometric=2', '-dq'], { cwd: busy, env }),
            after: () => ({ 'MB for 1,000 steps': ((bytesBelow(objectsOf(busy)) - bytesBefore) / 1e6 / steps) * 1000 }),
          },
        },
      };
    } finally {
      remove();
    }
  },
};

/** A repository with a few hundred files, collected. */
function makeRepository(folder) {
  mkdirSync(folder);
  const env = quietEnvironment();
  const git = (...argv) => execFileSync('git', argv, { cwd: folder, env, stdio: 'ignore' });
  git('init', '--quiet');
  for (let number = 0; number < files; number += 1) writeFileSync(path.join(folder, `${number}.md`), prose(number, 0));
  git('add', '--all');
  git('-c', `user.name=${who.name}`, '-c', `user.email=${who.email}`, 'commit', '--quiet', '--message', 'files');
  git('gc', '--quiet');
}

function objectsOf(folder) {
  return path.join(folder, '.git/objects');
}

function packsOf(folder) {
  return readdirSync(path.join(objectsOf(folder), 'pack')).filter((name) => name.endsWith('.idx')).length;
}

function bytesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => {
      // A folding may take it away just now.
      return sum + (statSync(path.join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0);
    }, 0);
}
