import { usesIn } from '../../engine/admission.ts';
import type { Config } from '../../engine/config.ts';
import { realPath } from '../../git/git-directory.ts';
import type { Repository } from '../../git/repository.ts';
import type { CliContext } from '../context.ts';
import { readingContext } from '../engine-here.ts';
import type { Claim } from './claim.ts';
import { claimsOf, claimsOfGit } from './gate.ts';
import { isWithin } from '../../is-within.ts';

/** What is claimed at the top of the work tree and in the folder of the command. */
export function claimsHere(cli: CliContext, repository: Repository, config: Config): Claim[] {
  const context = readingContext(repository, config);
  const agents = Object.values(config.agents);
  const workTree = repository.location?.workTree;
  const here = realPath(cli.cwd);
  const isInside = workTree !== undefined && isWithin(here, workTree);
  const folders = new Set([context.cwd, ...(isInside ? [here] : [])]);
  const uses = [...folders].flatMap((folder) => usesIn(context, agents, folder));
  return [...claimsOf(uses, config), ...claimsOfGit(cli, repository)];
}
