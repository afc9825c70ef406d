import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { makeLongThread } from './lib/long-thread-store.js';
import { quietEnvironment } from './lib/quiet-environment.js';
import { command, uwfCommand } from './lib/run-command.js';
import { temporaryFolder } from './lib/temporary-folder.js';

const base = 'git push';

/** A push of one more step of a long thread to a remote that has all others. */
export const push = {
  name: 'push',
  summary: 'one more step of a long thread pushed, beside git push of the same ref',

  async *compare({ quick, rounds = quick ? 7 : 25, folder: parent }) {
    const steps = quick ? 500 : 10_000;
    const { path, remove } = temporaryFolder(parent);
    const folder = join(path, 'here');
    const remote = join(path, 'there.git');
    const env = quietEnvironment();
    try {
      const { id, head } = await makeLongThread(folder, steps);
      const git = (...argv) => execFileSync('git', argv, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
      git('config', 'user.name', 'bench');
      git('config', 'user.email', 'bench@uwf');
      git('clone', '--quiet', '--mirror', folder, remote);
      git('remote', 'add', 'origin', remote);
      const ref = `refs/threads/${id}`;
      const tracking = `refs/uwf/remotes/origin/threads/${id}`;
      /** Removes the last step at the remote, and the local record that it was sent. */
      const before = () => {
        git('--git-dir', remote, 'update-ref', ref, `${head}~1`);
        git('update-ref', tracking, `${head}~1`);
      };
      const options = { cwd: folder, env };
      const pushing = uwfCommand(['push', 'origin', id], options);
      yield {
        what: `the last of ${steps.toLocaleString('en')} steps`,
        base,
        rounds,
        limits: { 'uwf push': 2.5 },
        contestants: {
          'node -e 0': command([process.execPath, '-e', '0'], options),
          'uwf --version': uwfCommand(['--version'], options),
          [base]: { before, run: command(['git', 'push', '--quiet', 'origin', `${ref}:${ref}`], options) },
          'uwf push': {
            ...pushing,
            before: () => {
              before();
              pushing.before();
              before();
            },
          },
        },
      };
    } finally {
      remove();
    }
  },
};
