import { UwfError } from '../errors.ts';

/** How far git had come. Source: git's progress.c, and who starts one. */
const progress =
  /^(?:remote: )?(?:(?:Enumerating|Counting|Compressing|Writing|Receiving|Resolving|Unpacking) |Total ).*[\r\n]*/gm;

/** No connection to a remote came about, or it broke. What had been brought so far is gone, what is stored is as before. */
export class RemoteUnreachable extends UwfError {
  readonly remote: string;
  constructor(remote: string, said: string, cause?: unknown) {
    const reason = said
      .replaceAll(progress, '')
      .replaceAll(/^(?:fatal|error): /gm, '')
      .trim();
    super(`${remote} cannot be reached: ${reason || 'it said nothing'}`, {
      code: 'remote-unreachable',
      kind: 'environment',
      hint: `nothing was changed here; 'git ls-remote ${remote}' shows whether git gets through`,
      cause,
    });
    this.remote = remote;
  }
}

/** Contents cannot be left out for now if nothing remembers where they are. */
export class NoRemoteToReturnTo extends UwfError {
  readonly remote: string;
  constructor(remote: string) {
    super(`what is left out now could not be fetched later: ${remote} is no remote of git's configuration`, {
      code: 'no-remote-to-return-to',
      kind: 'usage',
      hint: "give it a name with 'git remote add <name> <url>', or fetch everything",
    });
    this.remote = remote;
  }
}

/** git's configuration has no remote of this name, and it is no URL and no path. */
export class NoSuchRemote extends UwfError {
  readonly remote: string;
  constructor(remote: string, known: readonly string[]) {
    super(`there is no remote '${remote}'`, {
      code: 'no-such-remote',
      kind: 'usage',
      hint:
        known.length > 0
          ? `git knows these: ${known.join(', ')}; a URL or a path will do as well`
          : "'git remote add <name> <url>' adds one; a URL or a path will do as well",
    });
    this.remote = remote;
  }
}
