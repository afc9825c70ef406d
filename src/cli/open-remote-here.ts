import { openRemote } from '../git/open-remote.ts';
import type { Remote } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import type { SyncOptions } from '../sync/sync-options.ts';
import type { CliContext } from './context.ts';
import { canAsk } from './input/can-ask.ts';
import { ProgressLine } from './output/progress-line.ts';

/** What every exchange with a remote is told here. */
export type ExchangeOptions = Required<Pick<SyncOptions, 'env' | 'signal'>> & Pick<SyncOptions, 'onProgress'>;

/**
 * Lets a command exchange something with a remote: as this person, who may be asked for a password at a terminal, and with
 * progress shown there until it is done.
 *
 * @param name as it was typed; `undefined` for the one that git would choose
 * @throws {NoSuchRemote} if there is none of this name, and it is no URL and no path
 */
export async function exchangeWith<T>(
  cli: CliContext,
  repository: Repository,
  { name, direction }: { name: string | undefined; direction: 'push' | 'fetch' },
  exchange: (remote: Remote, options: ExchangeOptions) => Promise<T>,
): Promise<T> {
  const { env, cwd, signal } = cli;
  const remote = await openRemote(repository, name, { env, cwd, direction, mayAsk: canAsk(cli) });
  if (cli.stderr.isTTY !== true) return exchange(remote, { env, signal });
  const progress = new ProgressLine(cli.stderr);
  try {
    return await exchange(remote, { env, signal, onProgress: (line) => progress.tell(line) });
  } finally {
    progress.clear();
  }
}
