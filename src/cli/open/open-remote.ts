import { describeThread } from '../../engine/describe/describe.ts';
import type { Repository } from '../../git/repository.ts';
import { openRemote } from '../../git/transport/open-remote.ts';
import type { Remote } from '../../git/transport/remote.ts';
import type { SyncOptions } from '../../sync/report.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { isOver } from '../../thread/thread-state.ts';
import { ProgressLine } from '../output/progress-line.ts';
import { canAsk, type CliEnvironment } from '../process/cli-environment.ts';
import { agreeToGit } from '../trust/agree-to-git.ts';

/** Which remote is meant, for what, and what is told besides; without `onTrouble` it goes to stderr. */
type RemoteChoice = {
  name: string | undefined;
  direction: 'push' | 'fetch';
  /** Whether git may ask for a password; default: if there is a terminal. */
  mayAsk?: boolean;
  onTrouble?: (text: string) => void;
};

/** Finds the remote that was typed, or that git would choose, once the user trusts the programs that git would run for it. */
export async function openRemoteHere(
  cli: CliEnvironment,
  repository: Repository,
  { name, direction, mayAsk = canAsk(cli), onTrouble }: RemoteChoice,
): Promise<Remote> {
  await agreeToGit(cli, repository, 'remote');
  const { env, cwd } = cli;
  const tell = onTrouble ?? ((text) => cli.stderr.write(`uwf: ${text}\n`));
  const onRestored = (ref: string): void => tell(`the remote had lost the commit of ${ref}; it was sent again`);
  return openRemote(repository, name, { env, cwd, direction, mayAsk, onRestored });
}

type ExchangeOptions = Required<Pick<SyncOptions, 'env' | 'signal'>> & Pick<SyncOptions, 'onProgress'>;

/**
 * Lets a command exchange something with a remote; at a terminal its progress is shown until it is done, and taken away by
 * `pause`, before a person is asked.
 */
export async function withExchangeOptions<T>(
  cli: CliEnvironment,
  exchange: (options: ExchangeOptions, pause: () => void) => Promise<T>,
): Promise<T> {
  const { env, signal } = cli;
  if (cli.stderr.isTTY !== true) return exchange({ env, signal }, () => {});
  const progress = new ProgressLine(cli.stderr);
  try {
    return await exchange({ env, signal, onProgress: (line) => progress.tell(line) }, () => progress.clear());
  } finally {
    progress.clear();
  }
}

/** The threads that one which is not over called, and those that they called, which are not over and are here. */
export async function findOpenBelow(repository: Repository, thread: ThreadId): Promise<ThreadId[]> {
  const { status, calls } = await describeThread({ repository }, thread);
  if (isOver(status)) return [];
  const open: ThreadId[] = [];
  for (const call of calls) {
    if (!isOver(call.status)) open.push(call.thread, ...(await findOpenBelow(repository, call.thread)));
  }
  return open;
}
