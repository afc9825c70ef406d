import { join } from 'node:path';
import { type Config, loadConfig } from '../../engine/config/config.ts';
import { type KnownSecret, knownSecrets } from '../../engine/redact/known-secrets.ts';
import { Redaction } from '../../engine/redact/redaction.ts';
import type { Repository } from '../../git/repository.ts';
import { gitVariablesOf } from '../../git/repository/known-variables.ts';
import { namesIn } from '../../git/system/files.ts';
import { orElse } from '../../or-else.ts';
import { createRedactor } from '../../redaction/create-redactor.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { redactedLine } from '../output/findings.ts';
import { type CliEnvironment, trustsAll } from '../process/cli-environment.ts';
import { configFolder, machineKey } from './open-repository.ts';

/** The configuration of a command: this user's own, the repository's, and this machine's. */
export async function configHere(cli: CliEnvironment, repository: Repository): Promise<Config> {
  const from = { userFolder: configFolder(cli.env) };
  const config = await loadConfig(repository, from);
  const letsOut = config.settings?.some(({ name }) => name === 'redact' || name === 'push') === true;
  if (!letsOut || trustsAll(cli)) return config;
  const { claimOfSetting, Consents, isAgreed } = await import('../trust/claim.ts');
  const trusted = new Consents(cli, repository).read();
  return loadConfig(repository, { ...from, isAgreed: (setting) => isAgreed(claimOfSetting(setting), trusted) });
}

/** The configuration; an empty one if it has mistakes. For commands that run no agent. */
export function configOrNone(cli: CliEnvironment, repository: Repository): Promise<Config> {
  return configHere(cli, repository).catch((): Config => ({ agents: {}, roles: {} }));
}

/** The redactor of a command: it knows the secrets of this machine by value, tokens by their form, and uses this user's key. */
export function redactorHere(cli: CliEnvironment, repository: Repository, config: Config): Redactor {
  const known = secretsHere(cli, repository, config).map(({ value }) => value);
  const { rules = [], allow = [] } = config.redact ?? {};
  let key: Uint8Array | undefined;
  return createRedactor({
    known,
    rules,
    allow,
    // Most commands redact nothing and need no key.
    get key() {
      return (key ??= machineKey(cli.env, 'redaction.key'));
    },
  });
}

/** The known secrets of this machine: from the environment, the agents and git's configuration. */
export function secretsHere(cli: CliEnvironment, repository: Repository, config: Config): KnownSecret[] {
  const { location } = repository;
  const git = location === undefined ? [] : gitVariablesOf({ location, env: cli.env });
  return knownSecrets({ env: cli.env, config, git });
}

/** The redactor that searches stored objects. It is the one that redacts what a run writes. */
export async function scanningRedactor(cli: CliEnvironment, repository: Repository): Promise<Redactor> {
  return redactorHere(cli, repository, await configHere(cli, repository));
}

/** Takes secrets out of what a command itself is about to write. */
export async function redactionHere(cli: CliEnvironment, repository: Repository): Promise<Redaction> {
  const config = await configOrNone(cli, repository);
  return new Redaction(config.redact?.isOff === true ? null : redactorHere(cli, repository, config));
}

/** Says on stderr what was taken out: the rules, never the values. */
export function sayTaken(cli: CliEnvironment, { taken, rules }: Redaction): void {
  if (taken !== undefined) cli.stderr.write(`uwf: ${redactedLine(rules)}\n`);
}

/** How many packs git lets gather by default (`gc.autoPackLimit`). */
const MAX_GATHERED = 50;

/** Repacking so many small packs takes a fraction of a second. What takes longer continues without uwf. */
const MAX_WAIT_MS = 10_000;

/**
 * Repacks the small packs of a repository if many have gathered, and waits for it.
 *
 * A step repacks while its agent works. This is for commands that run no agent and may be given again and again: each leaves a
 * pack, a thousand `cas put` as much as 42 MB. No command fails because of it.
 */
export async function foldGathered(cli: CliEnvironment, repository: Repository): Promise<void> {
  const { location } = repository;
  if (location === undefined) return;
  const names = orElse(() => namesIn(join(location.commonDir, 'objects', 'pack')), []);
  if (names.filter((name) => name.endsWith('.idx')).length < MAX_GATHERED) return;
  const { foldPacks } = await configOrNone(cli, repository);
  if (foldPacks === false) return;
  const { repackInBackground } = await import('../../git/maintenance/repack.ts');
  await repackInBackground(repository, cli.env)?.settled(MAX_WAIT_MS);
}
