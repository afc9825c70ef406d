import type { EngineContext } from '../engine/context.ts';
import { createJudge } from '../engine/judge.ts';
import { Patience } from '../engine/patience.ts';
import { checkHistoryRef } from '../engine/verify-threads.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { threadTimeMs, type ThreadId } from '../thread/thread-id.ts';
import { faultOf } from '../thread/verify/finding.ts';
import { NewCommits } from '../thread/verify/new-commits.ts';
import { boundedObjects } from './bounded-objects.ts';
import { CarriedObjects } from './carried-objects.ts';
import { Registrations } from './check-registrations.ts';
import { INCOMING_LIMITS, type IncomingLimits } from './incoming-limits.ts';
import { VerifiedCommits } from './verified-commits.ts';

/** A ref of a remote, whose name has been checked, and what it is to become here. */
export type IncomingTip = {
  /** The remote's name for it; it is what the verdict is found under. */
  ref: string;
  id: ObjectId;
  /** The thread that it is the ref of; absent for a ref of another kind. */
  thread?: { id: ThreadId; isHistory: boolean };
  /** The name of the workflow whose registry it is. */
  workflow?: string;
};

/** Whether a tip, and all behind it, is what the format promises. */
export type Verdict = { sound: true } | { sound: false; reason: string };

export type CheckOptions = {
  limits?: Partial<IncomingLimits>;
  /** Whether files that steps recorded, and files of code, may be left out until they are first read. */
  mayLackFiles?: boolean;
  signal?: AbortSignal;
};

const DAY_MS = 86_400_000;
/** The longest reason that is given: names in it come from elsewhere. */
const MAX_REASON = 500;

/**
 * Checks what a fetch brought before any ref of this repository leads to it: all that `uwf thread verify` checks, that
 * `git fsck --strict` would find nothing, and that it can be looked at in bounded memory and time.
 *
 * What local refs lead to was checked before and is not checked again. What tips share is looked at once. Nothing is run but
 * the rules of workflows, in their boxes, and nothing is written. One unsound tip keeps no other from being sound.
 * @param view reads what was brought and what the repository has; its refs are the local ones
 * @returns a verdict for each tip, by its ref; reasons are printable
 * @throws the reason of `signal` when that is aborted
 */
export async function checkIncoming(
  context: Pick<EngineContext, 'repository'>,
  view: Repository,
  tips: readonly IncomingTip[],
  options: CheckOptions = {},
): Promise<Map<string, Verdict>> {
  const check = await createCheck(context.repository, view, options);
  const verdicts = new Map<string, Verdict>();
  for (const tip of tips) {
    options.signal?.throwIfAborted();
    verdicts.set(tip.ref, await verdictOf(() => check(tip)));
  }
  return verdicts;
}

/** Says what is wrong with a tip; `undefined` if nothing is. */
type Check = (tip: IncomingTip) => Promise<string | undefined>;

async function createCheck(local: Repository, view: Repository, options: CheckOptions): Promise<Check> {
  const limits: IncomingLimits = { ...INCOMING_LIMITS, ...options.limits };
  const ofThreads = await VerifiedCommits.of(local, 'threads');
  const ofWorkflows = await VerifiedCommits.of(local, 'workflows');
  const bounded: Repository = { ...view, objects: boundedObjects(view.objects, limits) };
  const carried = new CarriedObjects(view.objects, local.objects, limits, options.mayLackFiles);
  const patience = new Patience();
  const threads = new NewCommits(bounded, createJudge(bounded, { patience }), {
    isVerified: (id) => ofThreads.has(id),
    checkObjects: (commit, report) => carried.checkCommit(commit, report),
    checkCode: (id, report) => carried.checkCode(id, report),
  });
  const registrations = new Registrations(bounded, carried, patience, (id) => ofWorkflows.has(id));
  return async ({ ref, id, thread, workflow }) => {
    if (workflow !== undefined) return registrations.check(workflow, id);
    if (thread === undefined) return 'uwf has no use for a ref of this kind';
    if (threadTimeMs(thread.id) > view.now() + DAY_MS) {
      return `by its id it starts at ${new Date(threadTimeMs(thread.id)).toISOString()}, more than a day from now`;
    }
    const wrong = await threads.verify(thread.id, id);
    if (wrong !== undefined || !thread.isHistory) return wrong;
    return (await checkHistoryRef(bounded, thread.id, ref, id))[0]?.what;
  };
}

async function verdictOf(check: () => Promise<string | undefined>): Promise<Verdict> {
  const reason = await check().catch((error: unknown) => {
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    return fault;
  });
  return reason === undefined ? { sound: true } : { sound: false, reason: printable(reason) };
}

function printable(text: string): string {
  const shown = text.slice(0, MAX_REASON).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
  return text.length > MAX_REASON ? `${shown}…` : shown;
}
