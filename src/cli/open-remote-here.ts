import { openRemote } from '../git/open-remote.ts';
import type { Remote } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import type { CliContext } from './context.ts';
import { agreeToGit } from './trust/agree-to-git.ts';
import { canAsk } from './input/can-ask.ts';

/**
 * Finds the remote that was typed, as this person, who may be asked for a password at a terminal.
 *
 * @param name as it was typed; `undefined` for the one that git would choose
 * @throws {NotTrusted} if the repository's own configuration has git run something on the way, and nobody has agreed to it
 * @throws {NoSuchRemote} if there is none of this name, and it is no URL and no path
 */
export async function openRemoteHere(
  cli: CliContext,
  repository: Repository,
  { name, direction }: { name: string | undefined; direction: 'push' | 'fetch' },
): Promise<Remote> {
  await agreeToGit(cli, repository, 'remote');
  const { env, cwd } = cli;
  return openRemote(repository, name, { env, cwd, direction, mayAsk: canAsk(cli) });
}
