import { UwfError } from '../../errors.ts';
import { FULL_DISK, StorageFull } from '../format/errors.ts';
import { isObjectId } from '../format/object-id.ts';
import { printable } from '../format/paths.ts';
import { GitFailed, type GitRun, runGit } from '../process/run-git.ts';
import type { PushOutcome, Remote, RemoteRef } from './remote.ts';

/**
 * Reads what git prints about remotes as values. The sentences are those of git in English (`LC_ALL=C`); no other
 * file of this part looks at them.
 */

/** Why a fetch failed. Both are false for a connection that did not come about, or broke. */
type FetchFailure = {
  /** Everything has come, and only refs could not be written: two that cannot both be, or a name too long for a file. */
  isOfNames: boolean;
  /**
   * The connection was fine. What came is too large for the memory that git may take, damaged or incomplete, or the remote
   * cannot send all that it has listed. Less of it may work.
   */
  isOfContent: boolean;
};

const fatal = /^fatal:|did not send all/m;
const indigestible =
  /^(?:fatal|error): (?:out of memory|.*did not send all necessary objects|.*(?:unresolved delta|inflate|corrupt|died of signal|bad object|couldn't find remote ref|max(?:imum)? depth|malformed|sha1 collision))/im;
/** Source: git's upload-pack.c. */
const notSent = /(?:not our ref [0-9a-f]+|aborting due to possible repository corruption on the remote side)/;

export function readFetchFailure({ said }: GitFailed): FetchFailure {
  return { isOfNames: !fatal.test(said), isOfContent: indigestible.test(said) || notSent.test(said) };
}

function isOutOfMemory({ said }: GitFailed): boolean {
  return /^fatal: (?:out of memory|.*alloc)/im.test(said);
}

/** What git, or the remote, said about a disk that is full. Source: git's csum-file.c for its own words. */
export function fullDiskIn(said: string): string | undefined {
  return said.split('\n').find((line) => FULL_DISK.test(line) || line.includes('Out of diskspace'));
}

/** Names the full disk of this machine in place of a git that wrote to it; returns other errors unchanged. */
export function asFullDisk(error: unknown, path: string): unknown {
  const line = error instanceof GitFailed ? fullDiskIn(error.said) : undefined;
  return line === undefined || line.startsWith('remote:') ? error : new StorageFull(path, error);
}

/** Tells whether the remote's objects are named by another hash. Source: git's fetch-pack.c, send-pack.c and connect.c. */
export function isOfOtherFormat({ said }: GitFailed): boolean {
  return /mismatched (?:algorithms|object format): |not support this repository's (?:hash algorithm|object format)/.test(
    said,
  );
}

/** Tells whether a remote cannot make all edits of a push or none. */
export function lacksAtomicPush({ said }: GitFailed): boolean {
  return said.includes('does not support --atomic');
}

/** How far git had come. Source: git's progress.c, and the callers of `start_progress`. */
const progress =
  /^(?:remote: )?(?:(?:Enumerating|Counting|Compressing|Writing|Receiving|Resolving|Unpacking) |Total ).*[\r\n]*/gm;

/** What git said, without progress and without its own marks. */
function withoutProgress(said: string): string {
  return said
    .replaceAll(progress, '')
    .replaceAll(/^(?:fatal|error): /gm, '')
    .trim();
}

/** The outcome for one ref, as git reports it. */
export type RefOutcome =
  | PushOutcome
  /** The connection broke before the other side said what it did. */
  | { outcome: 'unknown'; reason: string };

const moved =
  /^(?:fetch first|non-fast-forward|stale info|already exists|needs force|remote ref updated since checkout)$|lock|old value|reference (?:already exists|does not exist)|non-fast-forward/i;
/** Reasons for a failed lock that do not go away. */
const forGood = /cannot create|Permission denied|Read-only file system/;
const undone = /^atomic (?:push fail|transaction)/;

/**
 * Reads the output of `git push --porcelain`, by the names of the remote's refs. For a remote with several URLs the worst
 * outcome counts.
 * @param said its stderr, where a server gives the reason why it could not lock a ref
 * Source: git-push(1), "OUTPUT"; the reasons are those of git's transport.c, builtin/receive-pack.c and refs.c.
 */
export function parsePushResults(printed: string, said: string): Map<string, RefOutcome> {
  const outcomes = new Map<string, RefOutcome>();
  for (const line of printed.split('\n')) {
    const match = /^([ +\-*=!])\t([^\t]*)\t(.*)$/.exec(line);
    if (match === null) continue;
    const [, flag = '', refs = '', summary = ''] = match;
    const name = refs.slice(refs.indexOf(':') + 1);
    const outcome: RefOutcome =
      flag === '!' ? explain(name, summary, said) : { outcome: flag === '=' ? 'unchanged' : 'done' };
    const before = outcomes.get(name);
    if (before === undefined || rank(outcome) > rank(before)) outcomes.set(name, outcome);
  }
  return outcomes;
}

function explain(name: string, summary: string, said: string): RefOutcome {
  const [, kind = '', reason = summary] = /^\[([^\]]*)\] \((.*)\)$/.exec(summary) ?? [];
  if (kind === 'remote failure' || kind === 'no match') return { outcome: 'unknown', reason };
  const lock = lockFailure(name, said);
  if (lock !== undefined) return { outcome: forGood.test(lock) ? 'refused' : 'moved', reason: lock };
  if (undone.test(reason)) return { outcome: 'undone', reason };
  if (moved.test(reason)) return { outcome: 'moved', reason };
  return { outcome: 'refused', reason: [reason, ...wordsOfServer(said)].join(': ') };
}

/**
 * The ref of the remote, or the commit, that a refusal names because the remote has lost that commit.
 * Source: `get_reference` in git's revision.c; the first words are those of git's receive-pack.c.
 */
export function lostTipIn(reason: string): string | undefined {
  return /^missing necessary objects: .*fatal: bad object (refs\/[^ ;]+|[0-9a-f]{40,64})/.exec(reason)?.[1];
}

/** The words of the server about a refusal, mostly those of a hook. */
function wordsOfServer(said: string): string[] {
  const words = said
    .split('\n')
    .flatMap((line) => /^(?:remote:|error: remote unpack failed:)(.*)$/.exec(line)?.[1]?.trim() || []);
  return words.length === 0 ? [] : [printable(words.join('; '))];
}

/** The reason why the server could not lock a ref, which git reports only on stderr. */
function lockFailure(name: string, said: string): string | undefined {
  const start = said.indexOf(`cannot lock ref '${name}': `);
  if (start === -1) return undefined;
  const end = said.indexOf('\n', start);
  return said.slice(start, end === -1 ? undefined : end).trim();
}

const order: readonly RefOutcome['outcome'][] = ['unchanged', 'done', 'undone', 'moved', 'refused', 'unknown'];

function rank({ outcome }: RefOutcome): number {
  return order.indexOf(outcome);
}

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
  // The reason of `open-remote.ts` says itself what to do.
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

/** Settings for git to use little memory and map little of a pack at a time: one object can be larger than the memory. */
export const littleMemory: readonly string[] = [
  'core.bigFileThreshold=4m',
  'core.deltaBaseCacheLimit=16m',
  'core.packedGitWindowSize=4m',
  'core.packedGitLimit=32m',
  'pack.threads=1',
];

/** For a folder of this machine git runs the other side too, which gets the same limits of memory. */
export const localUploadPack: string = [
  'git',
  ...[...littleMemory, 'pack.deltaCacheSize=16m', 'pack.windowMemory=32m'].map((setting) => `-c ${setting}`),
  'upload-pack',
].join(' ');

const MiB = 1024 * 1024;

/**
 * The limit of memory for data from a remote: some 900,000 refs. git holds objects other than blobs, and the results of
 * deltas, as a whole; a million objects of ordinary size need less. The limit applies to the helpers of git too, so it cannot
 * be lower.
 */
const MAX_DATA_BYTES = 192 * MiB;
/** The limit of output that this process holds: a list of refs, or messages of a remote. */
const MAX_OUTPUT_BYTES = 32 * MiB;
/** The limit of a trace with a list of refs; over http it has each ref twice. */
export const MAX_TRACE_BYTES: number = 96 * MiB;

/** A working remote has sent something by then, also one that sends slowly. */
const SPEAKS_WITHIN_MS = 120_000;
/** Time for a person to enter a password. */
const ASKS_WITHIN_MS = 600_000;

type Limits = 'isForRemote' | 'mayAsk' | 'maxDataBytes' | 'maxOutputBytes' | 'speaksWithinMs';

/** Limits for a git that talks to a remote, which can send refs without end. */
export function towardsRemote(mayAsk: boolean): Required<Pick<GitRun, Limits>> {
  return {
    isForRemote: true,
    mayAsk,
    maxDataBytes: MAX_DATA_BYTES,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    speaksWithinMs: mayAsk ? ASKS_WITHIN_MS : SPEAKS_WITHIN_MS,
  };
}

/** Explains the failure of a git that reached its limit of memory, or of a trace; returns other errors unchanged. */
export function explainLimit(error: unknown, hasFullTrace = false): unknown {
  if (!(error instanceof GitFailed) || !(hasFullTrace || isOutOfMemory(error))) return error;
  const most = hasFullTrace ? MAX_TRACE_BYTES : MAX_DATA_BYTES;
  const said = `it tells of more than fits into ${most / MiB} MiB, or of refs without end`;
  return new GitFailed(error.args, said, error.printed);
}

/**
 * Lists the refs of a remote that match names or patterns. The server sends all its refs.
 *
 * Lines that are not an id and a name are ignored.
 * Source: git-ls-remote(1).
 */
export async function listRemoteRefs(
  run: Omit<GitRun, 'args'>,
  remote: string,
  patterns: readonly string[],
): Promise<RemoteRef[]> {
  if (patterns.length === 0) return [];
  const args = ['ls-remote', '--refs', '--quiet', '--', remote, ...patterns];
  const settings = ['protocol.version=2'];
  const listed = await runGit({ ...run, ...towardsRemote(run.mayAsk ?? false), settings, args }).catch(
    (error: unknown) => {
      throw explainLimit(error);
    },
  );
  const lines = listed.toString('utf8').split('\n');
  const isWanted = matcherOf(patterns);
  return lines.flatMap((line) => {
    const [id = '', name = ''] = line.split('\t');
    return isObjectId(id) && isWanted(name) ? [{ name, id }] : [];
  });
}

/** Tells whether a name matches exactly; git itself returns more. */
export function matcherOf(patterns: readonly string[]): (name: string) => boolean {
  const names = new Set(patterns.filter((pattern) => !pattern.endsWith('*')));
  const prefixes = patterns.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  return (name) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}
