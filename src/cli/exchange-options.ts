import type { SyncOptions } from '../sync/sync-options.ts';
import type { CliContext } from './context.ts';
import { ProgressLine } from './output/progress-line.ts';

/** What every exchange with a remote is told here. */
export type ExchangeOptions = Required<Pick<SyncOptions, 'env' | 'signal'>> & Pick<SyncOptions, 'onProgress'>;

/** Lets a command exchange something with a remote; at a terminal its progress is shown until it is done. */
export async function withExchangeOptions<T>(
  cli: CliContext,
  exchange: (options: ExchangeOptions) => Promise<T>,
): Promise<T> {
  const { env, signal } = cli;
  if (cli.stderr.isTTY !== true) return exchange({ env, signal });
  const progress = new ProgressLine(cli.stderr);
  try {
    return await exchange({ env, signal, onProgress: (line) => progress.tell(line) });
  } finally {
    progress.clear();
  }
}
