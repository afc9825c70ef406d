import { ownProgramsFor, type GitUse } from '../../git/native/own-programs.ts';
import type { Repository } from '../../git/repository.ts';
import type { CliContext } from '../context.ts';
import { trustsAll } from './trusts-all.ts';

/**
 * Has the person agree to the programs that git would run for this repository, where its own configuration names some. What
 * asks is loaded then alone.
 * @throws {NotTrusted} where there is nobody to ask, or the answer is no
 */
export async function agreeToGit(cli: CliContext, repository: Repository, use: GitUse): Promise<void> {
  const { location } = repository;
  if (trustsAll(cli) || location === undefined || ownProgramsFor(use, location, cli.env).length === 0) return;
  const { agreeTo, claimsOfGit } = await import('./gate.ts');
  await agreeTo(cli, repository, () => claimsOfGit(cli, repository, use));
}
