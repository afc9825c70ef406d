import type { Config } from '../engine/config.ts';
import type { KnownSecret } from '../engine/known-secrets.ts';
import type { GitVariable } from '../git/native/git-variables.ts';
import type { Repository } from '../git/repository.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { CliContext } from './context.ts';
import { machineKey } from './machine-key.ts';

/**
 * What takes secrets out of all that a command writes: by the values that are known on this machine, by the forms of
 * tokens, and with this user's key.
 */
export async function redactorHere(cli: CliContext, repository: Repository, config: Config): Promise<Redactor> {
  const { createRedactor } = await import('../redaction/create-redactor.ts');
  const known = (await secretsHere(cli, repository, config)).map(({ value }) => value);
  const { rules = [], allow = [] } = config.redact ?? {};
  let key: Uint8Array | undefined;
  return createRedactor({
    known,
    rules,
    allow,
    // Most commands take nothing out, and need none.
    get key() {
      return (key ??= machineKey(cli.env, 'redaction.key'));
    },
  });
}

/** What is known to be secret on this machine: of its environment, its agents, and git's configuration. */
export async function secretsHere(cli: CliContext, repository: Repository, config: Config): Promise<KnownSecret[]> {
  const [{ knownSecrets }, git] = await Promise.all([
    import('../engine/known-secrets.ts'),
    gitVariables(repository, cli.env),
  ]);
  return knownSecrets({ env: cli.env, config, git });
}

async function gitVariables({ location }: Repository, env: CliContext['env']): Promise<readonly GitVariable[]> {
  if (location === undefined) return [];
  const { readConfigFiles } = await import('../git/native/read-config-files.ts');
  const read = readConfigFiles(location, env);
  if (read !== undefined) return read;
  const { listGitVariables } = await import('../git/native/git-variables.ts');
  // Without git, or with a configuration that it cannot read, no remote is reached either.
  return listGitVariables(location, env).catch(() => []);
}
