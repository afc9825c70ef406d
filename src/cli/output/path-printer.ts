import { runGit } from '../../git/process/run-git.ts';
import { printedPath } from '../../git/format/paths.ts';
import type { Repository } from '../../git/repository.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/** Returns a function that prints paths as git does. `core.quotePath` is read only if a name is not ASCII. */
export async function pathPrinter(
  { env }: Pick<CliEnvironment, 'env'>,
  { location }: Repository,
  paths: readonly string[],
): Promise<(path: string) => string> {
  let isQuotingAll = true;
  // oxlint-disable-next-line no-control-regex -- ASCII begins with control characters
  if (location !== undefined && paths.some((path) => /[^\0-\x7f]/.test(path))) {
    const args = ['config', '--type=bool', '--default=true', 'core.quotePath'];
    isQuotingAll = (await runGit({ location, env, args })).toString('latin1').trim() === 'true';
  }
  return (path) => printedPath(path, isQuotingAll);
}
