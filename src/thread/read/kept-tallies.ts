import { isNodeHash } from '../../cas/node-hash.ts';
import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readDerivedJson, tryToWriteDerivedFile } from '../../git/system/derived-file.ts';
import type { CountedLimit, MoreLimits } from '../../schema/built-in/thread-resume.ts';
import type { Usage } from '../../schema/built-in/usage.ts';
import { arrayOf, isNumber, isString, objectOf, orNull, stringThat, type Shape } from '../../shape.ts';
import type { ThreadId } from '../thread-id.ts';
import { derivedPath } from './derived-path.ts';
import type { RoleTally, StepPlace, Tally } from './tally.ts';

/** A tally is kept after each interval of this many steps. Reading so many commits takes some milliseconds. */
const INTERVAL = 64;
/** The newest step may be done again, or forked from: then the tally before the newest one is needed. */
const MAX_KEPT = 2;
/** The number is raised when a field is added or changes its meaning, so that older files are ignored. */
const FORM = 'tally 1';

/** A tally, and the step whose tally it is. */
export type KeptTally = { commit: ObjectId; tally: Tally };

/** Tells whether the tally of a step is one to keep. */
export function isKept({ steps }: Pick<Tally, 'steps'>): boolean {
  return steps > 0 && steps % INTERVAL === 0;
}

/**
 * Reads the tallies that this machine keeps of a thread, the newest first.
 *
 * A tally is always right for its commit, even if the thread has changed. A reader uses the one whose commit it finds on the
 * chain.
 */
export function findKeptTallies(repository: Repository, id: ThreadId): KeptTally[] {
  const path = derivedPath(repository, id, 'tally');
  const stored = path === undefined ? undefined : readDerivedJson(path, FORM, isStored);
  return (stored ?? []).map(({ commit, types, roles, ...tally }) => ({
    commit,
    tally: { ...tally, types: new Set(types), roles: new Map(roles) },
  }));
}

/** Keeps tallies of a thread, the newest first. Errors of the disk are ignored: the thread is read again instead. */
export function keepTallies(repository: Repository, id: ThreadId, kept: readonly KeptTally[]): void {
  const path = derivedPath(repository, id, 'tally');
  if (path === undefined) return;
  const stored: Stored[] = kept.slice(0, MAX_KEPT).map(({ commit, tally }) => ({
    ...tally,
    commit,
    types: [...tally.types],
    roles: [...tally.roles],
  }));
  tryToWriteDerivedFile(path, FORM, `${JSON.stringify(stored)}\n`);
}

/** Keeps the tallies of a thread for another one, which goes on from a commit of it. */
export function shareTallies(repository: Repository, from: ThreadId, to: ThreadId): void {
  const kept = findKeptTallies(repository, from);
  if (kept.length > 0) keepTallies(repository, to, kept);
}

/** A tally as JSON has it. */
type Stored = Omit<Tally, 'types' | 'roles'> & {
  commit: ObjectId;
  types: Tally['types'] extends ReadonlySet<infer T> ? T[] : never;
  roles: [string, RoleTally][];
};

export const isUsage: Shape<Usage> = objectOf<Usage>({
  inputTokens: isNumber,
  outputTokens: isNumber,
  turns: isNumber,
  costUsd: { mayBe: isNumber },
  cacheReadTokens: { mayBe: isNumber },
  cacheWriteTokens: { mayBe: isNumber },
  isAtLeast: { mayBe: (value) => value === true },
});

const isPlace = objectOf<StepPlace>({ commit: stringThat(isObjectId), number: isNumber });

const isRoleTally = objectOf<RoleTally>({
  visits: isNumber,
  first: orNull(isPlace),
  last: orNull(isPlace),
  usage: orNull(isUsage),
  replaced: orNull(isUsage),
  waits: isNumber,
});

const isNamedRole: Shape<[string, RoleTally]> = (value): value is [string, RoleTally] =>
  Array.isArray(value) && value.length === 2 && isString(value[0]) && isRoleTally(value[1]);

const mayBeNumber = { mayBe: isNumber };
const isMore = objectOf<MoreLimits>({
  maxSteps: mayBeNumber,
  maxVisits: mayBeNumber,
  maxTurns: mayBeNumber,
  maxTokens: mayBeNumber,
  maxCostUsd: mayBeNumber,
} satisfies Record<CountedLimit, unknown>);

const isStored = arrayOf(
  objectOf<Stored>({
    commit: stringThat(isObjectId),
    start: stringThat(isObjectId),
    steps: isNumber,
    types: arrayOf(isNodeHash),
    roles: arrayOf(isNamedRole),
    usage: orNull(isUsage),
    replaced: orNull(isUsage),
    more: isMore,
    files: orNull(stringThat(isObjectId)),
    compacted: orNull(isPlace),
    calling: arrayOf(stringThat(isObjectId)),
    reopenings: arrayOf(isPlace),
  }),
);
