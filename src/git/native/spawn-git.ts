import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import type { GitEnvironment } from '../git-directory.ts';
import type { RepositoryLocation } from '../repository.ts';
import { gitEnvironment } from './git-environment.ts';

/** How git is started: on which repository, with what, and what for. */
export type GitStart = {
  /** Which repository and work tree; git is not left to find them. */
  location: RepositoryLocation;
  /** What it inherits; variables that would lead it to another repository or index are left out. */
  env: GitEnvironment;
  args: readonly string[];
  /** Variables of this run alone (`GIT_INDEX_FILE`). */
  variables?: GitEnvironment;
  /** Where it runs, which is where relative paths start; default: the top of the work tree, or the repository. */
  cwd?: string;
  /** Lets it talk to a remote, over what git allows; default: it must not, and fetches nothing that is missing. */
  isForRemote?: boolean;
  /** Lets it ask a person at the terminal for a name, a password or a passphrase; default: it must not. */
  mayAsk?: boolean;
  /**
   * How much memory each of its processes may take for data; what it asks for beyond that it does not get, and ends.
   * Where the system has no such limit there is none.
   */
  maxDataBytes?: number;
  /** Ends it when aborted. */
  signal?: AbortSignal;
  /** Gives it a lower priority, and does not keep this process from ending before it. */
  isInBackground?: boolean;
};

/** No hook of a repository runs, nor what it names to watch its files: uwf gains nothing from them. */
export const switchedOff: readonly string[] = ['core.hooksPath=/dev/null', 'core.fsmonitor=false'];

/** Starts native git, without hooks. Its errors come as events of the child. */
export function spawnGit(start: GitStart): ChildProcessWithoutNullStreams {
  const { location, env, args, variables, cwd, signal } = start;
  const words = limited(['git', ...switchedOff.flatMap((set) => ['-c', set]), ...args], start.maxDataBytes);
  const child = spawn(words[0] ?? 'git', words.slice(1), {
    cwd: cwd ?? location.workTree ?? location.gitDir,
    env: {
      ...gitEnvironment(location, env),
      ...(start.isForRemote === true && asInherited(env)),
      ...(start.mayAsk !== true && { GIT_TERMINAL_PROMPT: '0' }),
      ...variables,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(signal && { signal }),
  });
  if (start.isInBackground === true) leaveInBackground(child);
  return child;
}

/** What a fetch brings may build on what was promised. */
function asInherited({ GIT_ALLOW_PROTOCOL, GIT_NO_LAZY_FETCH }: GitEnvironment): GitEnvironment {
  return { GIT_ALLOW_PROTOCOL, GIT_NO_LAZY_FETCH };
}

function leaveInBackground(child: ChildProcessWithoutNullStreams): void {
  try {
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended already.
  }
  child.unref();
  // Pipes of a child are sockets, and say so by this method.
  for (const pipe of [child.stdin, child.stdout, child.stderr]) (pipe as Partial<Socket>).unref?.();
}

/**
 * Has a shell set the limit and become the program: Node cannot limit a child. Files that are mapped do not count.
 *
 * Source: getrlimit(2), RLIMIT_DATA; POSIX leaves `-d` of ulimit to the system, so it may fail.
 */
function limited(words: readonly string[], maxDataBytes: number | undefined): readonly string[] {
  if (maxDataBytes === undefined || process.platform === 'win32') return words;
  return ['/bin/sh', '-c', `ulimit -S -d ${Math.floor(maxDataBytes / 1024)} 2>/dev/null; exec "$@"`, 'sh', ...words];
}
