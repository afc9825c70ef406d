import type { Config } from '../engine/config.ts';
import type { Repository } from '../git/repository.ts';
import type { CliContext } from './context.ts';
import { configFolder } from './user-folders.ts';

/** The configuration of a command: this user's own, the repository's, and this machine's. */
export async function configHere(cli: CliContext, repository: Repository): Promise<Config> {
  const { loadConfig } = await import('../engine/config.ts');
  return loadConfig(repository, { userFolder: configFolder(cli.env) });
}
