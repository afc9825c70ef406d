import { FULL_DISK, StorageFull } from '../format/object-errors.ts';
import { GitFailed } from '../process/run-git.ts';
import { printable } from '../format/paths.ts';
import type { PushOutcome } from './remote.ts';

/**
 * Reads what git prints about remotes as values. The sentences are those of git in English (`LC_ALL=C`); no other
 * file of this part looks at them.
 */

/** Why a fetch failed. Both are false for a connection that did not come about, or broke. */
export type FetchFailure = {
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

/** Tells whether git ended at its limit of memory. */
export function isOutOfMemory({ said }: GitFailed): boolean {
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
export function withoutProgress(said: string): string {
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
 *
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
