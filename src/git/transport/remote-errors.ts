import { UwfError } from '../../errors.ts';
import type { Remote } from './remote.ts';
import { fullDiskIn, withoutProgress } from './git-output.ts';

/**
 * There was no connection to a remote, it broke, or the remote's disk is full: what is tried again later may succeed. Objects
 * that were fetched so far are removed; the repository is unchanged.
 */
export class RemoteUnreachable extends UwfError {
  constructor(remote: string, said: string, cause?: unknown) {
    const full = fullDiskIn(said)
      ?.replace(/^remote: /, '')
      .trim();
    const isFull = full !== undefined;
    const unreachable = `${remote} cannot be reached: ${withoutProgress(said) || 'it said nothing'}`;
    super(isFull ? `the disk of ${remote} is full: ${full}` : unreachable, {
      code: 'remote-unreachable',
      kind: 'environment',
      hint: isFull
        ? 'free some space there and repeat; nothing was changed here'
        : `nothing was changed here; 'git ls-remote ${remote}' shows whether git gets through`,
      cause,
      facts: { remote },
    });
  }
}

/** The name is no remote in git's configuration, no URL and no path. */
export function noSuchRemote(remote: string, known: readonly string[]): UwfError {
  return new UwfError(`there is no remote '${remote}'`, {
    code: 'no-such-remote',
    kind: 'usage',
    hint:
      known.length > 0
        ? `git knows these: ${known.join(', ')}; a URL or a path will do as well`
        : "'git remote add <name> <url>' adds one; a URL or a path will do as well",
    facts: { remote },
  });
}

/** How git says that objects were removed there while others came. Source: `update` in git's builtin/receive-pack.c. */
const wasCollected = /^(?:bad pack|missing necessary objects)\b|^unpacker error: .*No such file or directory/;

/**
 * How hosts say that the name of a ref is what they refuse: git's own words for hidden refs and odd names, a name of the push, or
 * a word about branches and tags. A hook refuses for other reasons, too: sizes, authors, the time of the day.
 */
const isOfName =
  /hidden ref|ref ?names?\b|refs\/|namespace|\bonly\b.*\b(?:branch(?:es)?|tags?|heads)\b|\b(?:branches|tags|heads) only\b/i;

/**
 * What to try after a remote refused a ref, in case it takes only branches and tags; `undefined` if it refuses for another reason
 * than the name, or if its refs are below a prefix already.
 */
export function hintAtRefusal({ name, isConfigured, refPrefix }: Remote, reason: string): string | undefined {
  if (wasCollected.test(reason))
    return "objects were removed there during the push, as 'git gc --prune=now' does: push again; if that fails too, 'git fsck' there says what is missing";
  // The reason of `restoring-remote.ts` says itself what to do.
  if (refPrefix !== undefined || !isOfName.test(reason) || reason.includes(' has lost the commit of '))
    return undefined;
  if (!isConfigured) return "a host that takes only branches and tags needs a name: 'git remote add <name> <url>'";
  const command = `git config remote.${name}.uwfPrefix refs/heads/uwf/`;
  return `if the host takes only branches and tags: '${command}', and let its CI leave out the branches uwf/**`;
}

/** The repository is not on a disk, so git cannot reach remotes for it. */
export class RemotesNeedDisk extends UwfError {
  constructor() {
    super('a repository that is not on a disk has no remotes', {
      code: 'remotes-need-disk',
      kind: 'usage',
      hint: 'open a repository on a disk, and share its threads from there',
    });
  }
}
