import { openRemote } from '../git/open-remote.ts';
import type { Remote } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import type { CliContext } from './context.ts';
import { canAsk } from './input/can-ask.ts';

/**
 * Finds the remote that was typed, as this person, who may be asked for a password at a terminal.
 *
 * @param name as it was typed; `undefined` for the one that git would choose
 * @throws {NoSuchRemote} if there is none of this name, and it is no URL and no path
 */
export function openRemoteHere(
  cli: CliContext,
  repository: Repository,
  { name, direction }: { name: string | undefined; direction: 'push' | 'fetch' },
): Promise<Remote> {
  const { env, cwd } = cli;
  return openRemote(repository, name, { env, cwd, direction, mayAsk: canAsk(cli) });
}
