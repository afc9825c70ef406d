import type { Repository } from '../git/repository.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { configHere } from './config-here.ts';
import type { CliContext } from './context.ts';
import { redactorHere } from './redactor-here.ts';

/** What knows secrets in what is stored already: the same that takes them out of what a run writes. */
export async function scanningRedactor(cli: CliContext, repository: Repository): Promise<Redactor> {
  return redactorHere(cli, repository, await configHere(cli, repository));
}
