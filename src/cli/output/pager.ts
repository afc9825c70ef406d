import { spawn } from 'node:child_process';

import type { CliEnvironment } from '../process/cli-environment.ts';

/**
 * Writes a text to stdout; on a terminal that it does not fit on, through the person's pager.
 *
 * The pager is `UWF_PAGER`, else what git would use (`GIT_PAGER`, `core.pager` of the user's own configuration, `PAGER`),
 * else `less -FRX`. `cat` or the empty text is none. If it cannot be started the text is written as it is.
 */
export async function page(cli: CliEnvironment, text: string): Promise<void> {
  const command = await pagerCommand(cli, text);
  if (command === undefined || !(await runPager(cli, command, text))) cli.stdout.write(text);
}

async function pagerCommand(cli: CliEnvironment, text: string): Promise<string | undefined> {
  if (!cli.mayPage || cli.stdout.isTTY !== true || cli.stdout !== process.stdout || cli.env['TERM'] === 'dumb')
    return undefined;
  const rows = cli.stdout.rows ?? 24;
  if (text.split('\n', rows + 1).length <= rows) return undefined;
  const { UWF_PAGER: own, GIT_PAGER: ofGit, PAGER: ofAll } = cli.env;
  const command = own ?? ofGit ?? (await corePager(cli.env)) ?? ofAll ?? 'less';
  return command === '' || command === 'cat' ? undefined : command;
}

/** The repository's own `core.pager` is ignored: its author could name any program. */
async function corePager(env: CliEnvironment['env']): Promise<string | undefined> {
  const { userVariable } = await import('../../git/repository/known-variables.ts');
  return userVariable('core.pager', env);
}

/** @returns false if the pager could not be started and has shown nothing */
function runPager(cli: CliEnvironment, command: string, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    const pager = spawn(command, {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      // less: quit if it fits on one screen, keep colours, leave the text on the screen.
      env: { LESS: 'FRX', LV: '-c', ...cli.env },
    });
    // Ctrl-C is the pager's while it runs.
    const ignore = (): void => {};
    process.on('SIGINT', ignore);
    const finish = (isShown: boolean): void => {
      process.removeListener('SIGINT', ignore);
      resolve(isShown);
    };
    pager.on('error', () => finish(false));
    // 126 and 127: the shell found no such program.
    pager.on('close', (code) => finish(code !== 126 && code !== 127));
    // Quitting the pager before the end closes the pipe.
    pager.stdin.on('error', ignore);
    pager.stdin.end(text);
  });
}
