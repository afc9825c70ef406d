import type { Config } from '../../engine/config/config.ts';
import type { Repository } from '../../git/repository.ts';
import { type CliEnvironment, trustsAll } from '../process/cli-environment.ts';
import { configFolder } from './user-folders.ts';

/** The configuration of a command: this user's own, the repository's, and this machine's. */
export async function configHere(cli: CliEnvironment, repository: Repository): Promise<Config> {
  const { loadConfig } = await import('../../engine/config/config.ts');
  const from = { userFolder: configFolder(cli.env) };
  const config = await loadConfig(repository, from);
  const letsOut = config.settings?.some(({ name }) => name === 'redact' || name === 'push') === true;
  if (!letsOut || trustsAll(cli)) return config;
  const [{ claimOfSetting }, { Consents, isAgreed }] = await Promise.all([
    import('../trust/claim.ts'),
    import('../trust/consents.ts'),
  ]);
  const trusted = new Consents(cli, repository).read();
  return loadConfig(repository, { ...from, isAgreed: (setting) => isAgreed(claimOfSetting(setting), trusted) });
}

/** The configuration; an empty one if it has mistakes. For commands that run no agent. */
export function configOrNone(cli: CliEnvironment, repository: Repository): Promise<Config> {
  return configHere(cli, repository).catch((): Config => ({ agents: {}, roles: {} }));
}
