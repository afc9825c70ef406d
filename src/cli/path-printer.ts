import { runGit } from '../git/native/run-git.ts';
import { printedPath } from '../git/quote-path.ts';
import type { Repository } from '../git/repository.ts';
import type { CliContext } from './context.ts';

/**
 * Gives what writes the user's paths for people, as git would here: `core.quotePath` is asked for where it matters, that is
 * for names outside of ASCII.
 */
export async function pathPrinter(
  { env }: Pick<CliContext, 'env'>,
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
