import { setupIn, usesIn } from '../../engine/agents/admission.ts';
import type { Config } from '../../engine/config/config.ts';
import type { Repository } from '../../git/repository.ts';
import { realPath } from '../../git/repository/git-directory.ts';
import { isWithin } from '../../is-within.ts';
import { readingContext, type AgentUse } from '../../engine/engine-context.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import type { TrustClaim } from './claim.ts';
import { claimsOf, claimsOfGit } from './gate.ts';

/** What is claimed at the top of the work tree and in the folder of the command. */
export function claimsHere(cli: CliEnvironment, repository: Repository, config: Config): TrustClaim[] {
  const context = readingContext(repository, config);
  const agents = Object.values(config.agents);
  const workTree = repository.location?.workTree;
  const here = realPath(cli.cwd);
  const isInside = workTree !== undefined && isWithin(here, workTree);
  const folders = new Set([context.cwd, ...(isInside ? [here] : [])]);
  const setup = (folder: string): AgentUse[] => [setupIn(context, folder)].flatMap((use) => use ?? []);
  const uses = [...folders].flatMap((folder) => [...usesIn(context, agents, folder), ...setup(folder)]);
  return [...claimsOf(uses, config), ...claimsOfGit(cli, repository)];
}
