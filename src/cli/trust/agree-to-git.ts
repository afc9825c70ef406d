import { ownProgramsFor, type GitUse } from '../../git/repository/own-programs.ts';
import type { Repository } from '../../git/repository.ts';
import { type CliEnvironment, trustsAll } from '../process/cli-environment.ts';

/** Has the person agree to what git would run for this repository by its own configuration; loads the gate only for that. */
export async function agreeToGit(cli: CliEnvironment, repository: Repository, use: GitUse): Promise<void> {
  const { location } = repository;
  if (trustsAll(cli) || location === undefined || ownProgramsFor(use, location, cli.env).length === 0) return;
  const { agreeTo, claimsOfGit } = await import('./gate.ts');
  await agreeTo(cli, repository, () => claimsOfGit(cli, repository, use));
}
