import { listRemotes } from '../../git/repository/choose-remote.ts';
import type { Repository } from '../../git/repository.ts';
import type { Remote } from '../../git/transport/remote.ts';
import { openRemoteHere } from '../open/open-remote.ts';
import { openForReading } from '../open/open-repository.ts';
import type { ArgumentSpec, TextOption } from '../command-line/command.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/** The arguments of the commands that talk to a remote. */
export const remoteArguments: readonly [
  ArgumentSpec & { name: 'remote'; isOptional: true },
  ArgumentSpec & { name: 'thread'; isOptional: true; isRepeatable: true },
] = [
  {
    name: 'remote',
    summary: 'a remote that git knows, a URL, a path or a bundle; by default the one that git would choose',
    isOptional: true,
    candidates: 'remote',
  },
  {
    name: 'thread',
    summary: 'only these threads, by their ids or first characters; the remote may be left out before them',
    isOptional: true,
    isRepeatable: true,
    candidates: 'thread',
  },
];

/** The option that says the same as arguments behind a remote do. */
export const onlyThreadsOption: TextOption & { isRepeatable: true } = {
  short: 't',
  value: '<thread>',
  summary: 'only this thread; may be given several times',
  isRepeatable: true,
  candidates: 'thread',
};

/** Which remote a command line means, and which threads; no thread means all of them. */
type RemoteWords = { remote: string | undefined; threads: string[] };

/**
 * How a thread's id begins, from four characters on: every id that is made before the year 3084 begins with a zero. A path
 * of this form can be written `./01KA`.
 */
const threadLike = /^0[0-9A-HJKMNP-TV-Z]{3,25}$/i;

/**
 * Reads the words after `push`, `fetch` or `sync`.
 *
 * The first is the remote, unless it looks like a thread's id and git knows no remote of this name.
 * @param names the remotes that git knows
 */
export function readRemoteWords(
  first: string | undefined,
  others: readonly string[],
  names: readonly string[],
): RemoteWords {
  if (first === undefined || names.includes(first) || !threadLike.test(first)) {
    return { remote: first, threads: [...others] };
  }
  return { remote: undefined, threads: [first, ...others] };
}

/**
 * Opens the repository and the remote that a command line means. `threads` is `undefined` where none is named: all are meant.
 * @param given threads that were named by an option
 */
export async function openExchange(
  cli: CliEnvironment,
  args: { remote: string | undefined; thread: readonly string[] },
  given: readonly string[],
  direction: 'push' | 'fetch',
): Promise<{ repository: Repository; remote: Remote; threads: string[] | undefined }> {
  const repository = await openForReading(cli);
  const { location } = repository;
  const mayBeThread = args.remote !== undefined && threadLike.test(args.remote);
  const names = mayBeThread && location !== undefined ? await listRemotes({ location, env: cli.env }) : [];
  const words = readRemoteWords(args.remote, args.thread, names);
  const threads = [...words.threads, ...given];
  const remote = await openRemoteHere(cli, repository, { name: words.remote, direction });
  return { repository, remote, threads: threads.length > 0 ? threads : undefined };
}
