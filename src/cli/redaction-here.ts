import type { Config } from '../engine/config.ts';
import { Redaction } from '../engine/redaction.ts';
import type { Repository } from '../git/repository.ts';
import { configHere } from './config-here.ts';
import type { CliContext } from './context.ts';
import { redactedLine } from './output/redacted-line.ts';
import { redactorHere } from './redactor-here.ts';

/** Takes secrets out of what a command itself is about to write. */
export async function redactionHere(cli: CliContext, repository: Repository): Promise<Redaction> {
  const config = await configOrNone(cli, repository);
  return new Redaction(config.redact?.isOff === true ? null : await redactorHere(cli, repository, config));
}

/** The configuration; where something is wrong with it none, for a command that runs no agent. */
export function configOrNone(cli: CliContext, repository: Repository): Promise<Config> {
  return configHere(cli, repository).catch((): Config => ({ agents: {}, roles: {} }));
}

/** Says on stderr what was taken out: the rules, never the values. */
export function sayTaken(cli: CliContext, { taken, rules }: Redaction): void {
  if (taken !== undefined) cli.stderr.write(`uwf: ${redactedLine(rules)}\n`);
}
