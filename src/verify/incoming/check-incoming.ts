import { lookupOf } from '../../cas/lookup/repository-nodes.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { asFault } from '../../thread/thread-errors.ts';
import { threadTimeMs, type ThreadId } from '../../thread/thread-id.ts';
import { NodeCache } from '../chain/known-nodes.ts';
import { Verification, type Origin } from '../chain/verification.ts';
import { CarriedObjects } from './carried-objects.ts';
import { checkRegistry, type RegistryCheck } from './check-registrations.ts';
import { INCOMING_LIMITS, type IncomingLimits, boundedObjects } from './incoming-limits.ts';
import { VerifiedCommits } from './verified-commits.ts';
import { TimeBudget } from '../replay/time-budget.ts';
import { checkHistoryRef } from '../verify-threads.ts';

/** A ref of a remote whose name has been parsed. */
export type IncomingTip = {
  /** The remote's name for it. */
  ref: string;
  id: ObjectId;
  /** The thread, if it is a ref of a thread. */
  thread?: { id: ThreadId; isHistory: boolean };
  /** The workflow, if it is the ref of a registry. */
  workflow?: string;
};

export type CheckOptions = {
  limits?: Partial<IncomingLimits>;
  /** Whether files of recorded work trees and of code may be missing: the repository is a partial clone. */
  mayLackFiles?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Gets a line after every {@link TOLD_AFTER} commits of a thread. */
  onProgress?: ((line: string) => void) | undefined;
};

/** Commits per report of progress: they take half a second. */
const TOLD_AFTER = 250;

/** Clocks are wrong by days, and a thread that one machine starts has to go on at another one. */
const MAX_AHEAD_MS = 30 * 86_400_000;
/** The longest reason that is returned. It contains names from the remote. */
const MAX_REASON = 500;

/**
 * Checks what a fetch brought, before any ref of this repository leads to it. It has to pass the checks of `uwf thread verify`,
 * within limits of memory and time. What git would not take cannot be read from `view`.
 *
 * Commits that local refs reach were checked before and are not checked again. Commits that tips share are checked once.
 * Nothing is written but this repository's lookup, and nothing is run but the rules of workflows, in their sandbox. Each tip is checked
 * by itself.
 * @param repository this repository
 * @param view reads the fetched objects and those of the repository; its refs are the local ones
 * @returns what is wrong with each unsound tip, by its ref, in printable characters
 * @throws the reason of `signal` when that is aborted
 */
export async function checkIncoming(
  repository: Repository,
  view: Repository,
  tips: readonly IncomingTip[],
  options: CheckOptions,
): Promise<Map<string, string>> {
  const check = await createCheck(repository, view, options);
  const faults = new Map<string, string>();
  for (const tip of tips) {
    options.signal?.throwIfAborted();
    const fault = await check(tip).catch((error: unknown) => {
      options.signal?.throwIfAborted();
      return asFault(error);
    });
    if (fault !== undefined) faults.set(tip.ref, printable(fault));
  }
  return faults;
}

/** Returns what is wrong with a tip, or `undefined`. */
type Check = (tip: IncomingTip) => Promise<string | undefined>;

async function createCheck(local: Repository, view: Repository, options: CheckOptions): Promise<Check> {
  const limits: IncomingLimits = { ...INCOMING_LIMITS, ...options.limits };
  const ofThreads = await VerifiedCommits.of(local, 'threads');
  const ofWorkflows = await VerifiedCommits.of(local, 'workflows');
  const bounded: Repository = { ...view, objects: boundedObjects(view.objects, limits) };
  const carried = new CarriedObjects(view.objects, local.objects, limits, options.mayLackFiles);
  const budget = new TimeBudget();
  const origin: Origin = {
    async isKnown(id) {
      options.signal?.throwIfAborted();
      return ofThreads.has(id);
    },
    lookup: lookupOf(local),
    checkObjects: (commit, report) => carried.checkCommit(commit, report),
    checkCode: (id, report) => carried.checkCode(id, report),
    limits,
  };
  const onCommit = (count: number, of: number): void => {
    options.signal?.throwIfAborted();
    if (count % TOLD_AFTER === 0) options.onProgress?.(`checked ${count} of ${of} commits`);
  };
  const threads = new Verification(bounded, { origin, budget, onCommit });
  const registries: RegistryCheck = {
    budget,
    cache: new NodeCache(bounded),
    isVerified: (id) => ofWorkflows.has(id),
  };
  return async ({ ref, id, thread, workflow }) => {
    if (workflow !== undefined) return checkRegistry(registries, workflow, id);
    if (thread === undefined) return 'uwf has no use for a ref of this kind';
    if (threadTimeMs(thread.id) > view.now() + MAX_AHEAD_MS) {
      return `by its id it starts at ${new Date(threadTimeMs(thread.id)).toISOString()}, more than 30 days from now`;
    }
    const wrong = await threads.faultOf(id);
    if (wrong !== undefined || !thread.isHistory) return wrong;
    return (await checkHistoryRef(bounded, thread.id, ref, id))[0]?.what;
  };
}

function printable(text: string): string {
  const shown = text.slice(0, MAX_REASON).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
  return text.length > MAX_REASON ? `${shown}…` : shown;
}
