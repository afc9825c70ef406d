import { printable } from '../printable.ts';
import type { PushResult } from '../remote.ts';

/** What became of one ref, as git tells it. */
export type RefOutcome =
  | { outcome: 'done' | 'unchanged' }
  | { outcome: 'moved' | 'refused' | 'undone'; reason: string }
  /** The connection broke before the other side said what it did. */
  | { outcome: 'unknown'; reason: string };

const moved =
  /^(?:fetch first|non-fast-forward|stale info|already exists|needs force|remote ref updated since checkout)$|lock|old value|reference (?:already exists|does not exist)|non-fast-forward/i;
/** Of a ref that could not be locked: why that will not change by waiting. */
const forGood = /cannot create|Permission denied|Read-only file system/;
const undone = /^atomic (?:push fail|transaction)/;

/**
 * Reads what `git push --porcelain` prints, by the names of the remote's refs. Of a remote with several URLs the worst
 * outcome counts.
 *
 * @param said what it said on stderr, where a server tells why it could not lock a ref
 * Source: git-push(1), "OUTPUT"; the reasons are those of git's transport.c, builtin/receive-pack.c and refs.c.
 */
export function parsePushResults(printed: string, said: string): Map<string, RefOutcome> {
  const outcomes = new Map<string, RefOutcome>();
  for (const line of printed.split('\n')) {
    const match = /^([ +\-*=!])\t([^\t]*)\t(.*)$/.exec(line);
    if (match === null) continue;
    const [, flag = '', refs = '', summary = ''] = match;
    const name = refs.slice(refs.indexOf(':') + 1);
    const outcome = flag === '!' ? explain(name, summary, said) : done(flag);
    const before = outcomes.get(name);
    if (before === undefined || rank(outcome) > rank(before)) outcomes.set(name, outcome);
  }
  return outcomes;
}

function done(flag: string): RefOutcome {
  return { outcome: flag === '=' ? 'unchanged' : 'done' };
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

/** What the server said beside its refusal, a hook of its above all. */
function wordsOfServer(said: string): string[] {
  const words = said
    .split('\n')
    .flatMap((line) => /^(?:remote:|error: remote unpack failed:)(.*)$/.exec(line)?.[1]?.trim() || []);
  return words.length === 0 ? [] : [printable(words.join('; '))];
}

/** Why the server could not lock a ref; git's own says so on stderr only. */
function lockFailure(name: string, said: string): string | undefined {
  const start = said.indexOf(`cannot lock ref '${name}': `);
  if (start === -1) return undefined;
  const end = said.indexOf('\n', start);
  return said.slice(start, end === -1 ? undefined : end).trim();
}

const order: readonly (PushResult['outcome'] | 'unknown')[] = [
  'unchanged',
  'done',
  'undone',
  'moved',
  'refused',
  'unknown',
];

function rank({ outcome }: RefOutcome): number {
  return order.indexOf(outcome);
}
