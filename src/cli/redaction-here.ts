import type { Config } from '../engine/config.ts';
import { Redaction } from '../engine/redaction.ts';
import type { Repository } from '../git/repository.ts';
import { configHere } from './config-here.ts';
import type { CliContext } from './context.ts';
import { redactedLine } from './output/redacted-line.ts';
import { redactorHere } from './redactor-here.ts';

/** Takes secrets out of what a command itself is about to write. */
export async function redactionHere(cli: CliContext, repository: Repository): Promise<Redaction> {
  // What is wrong with the configuration is no matter of a command that runs no agent.
  const config = await configHere(cli, repository).catch((): Config => ({ agents: {}, roles: {} }));
  return new Redaction(config.redact?.isOff === true ? null : await redactorHere(cli, repository, config));
}

/** Says on stderr what was taken out: the rules, never the values. */
export function sayTaken(cli: CliContext, { taken, rules }: Redaction): void {
  if (taken !== undefined) cli.stderr.write(`uwf: ${redactedLine(rules)}\n`);
}
