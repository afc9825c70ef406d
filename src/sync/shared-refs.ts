import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { parseRefName } from '../git/format/refs.ts';
import type { RefEdit, RefName, Repository } from '../git/repository.ts';
import { againIfMoved } from '../git/stores/publish.ts';
import type { FetchedRefs } from '../git/transport/open-remote.ts';
import type { FetchRequest, Remote, RemoteRef } from '../git/transport/remote.ts';
import { type ArchivedThread, ArchiveList, findListFault, LIST_REF } from '../thread/archive-list.ts';
import type { OnDamage } from '../thread/find-thread.ts';
import { REMOVED_PREFIX } from '../thread/remove-thread.ts';
import {
  ACTIVE_PREFIX,
  HISTORY_PREFIX,
  isThreadId,
  REMOTES_PREFIX,
  type ThreadId,
  threadTimeMs,
} from '../thread/thread-id.ts';
import { whyNoWorkflowName } from '../workflow/check/validate-workflow.ts';
import { WORKFLOWS_PREFIX } from '../workflow/registry/workflow-refs.ts';
import { CLAIMS_PREFIX } from './claims.ts';

/** Patterns of the refs that uwf reads from a remote. */
export const SHARED_PATTERNS: readonly string[] = [
  ACTIVE_PREFIX,
  HISTORY_PREFIX,
  WORKFLOWS_PREFIX,
  REMOVED_PREFIX,
  CLAIMS_PREFIX,
]
  .map((prefix) => `${prefix}*`)
  .concat(LIST_REF);

/** The parsed name of a shared ref; `date` is the UTC day in the name of an ended thread's ref. */
export type SharedRef =
  | { kind: 'thread'; thread: ThreadId; date: string | undefined }
  | { kind: 'workflow'; workflow: string }
  | { kind: 'removed'; thread: ThreadId }
  | { kind: 'claim'; thread: ThreadId }
  | { kind: 'archive' };

/** The commit of a thread's ref; `endedOn` is the UTC day in the name of a history ref. */
export type Tip = {
  id: ObjectId;
  endedOn: string | undefined;
  /** True if the archive of the repository lists it, and no ref leads to it. */
  isArchived?: true;
};

const day = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;

/**
 * Parses the name of a ref. It comes from a remote, which may use any name.
 * @returns the parsed name, or a sentence that says why it is no shared ref
 */
export function parseSharedRef(name: string): SharedRef | string {
  if (name === LIST_REF) return { kind: 'archive' };
  const after = (prefix: string): string | undefined =>
    name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
  const ended = after(HISTORY_PREFIX);
  if (ended !== undefined) {
    const [date = '', thread = '', ...rest] = ended.split('/');
    const isEnd = day.test(date) && isThreadId(thread) && rest.length === 0;
    return isEnd ? { kind: 'thread', thread, date } : 'its name is not a day and a thread id';
  }
  const workflow = after(WORKFLOWS_PREFIX);
  if (workflow !== undefined) {
    const isName = whyNoWorkflowName(workflow) === undefined;
    return isName ? { kind: 'workflow', workflow } : 'its name is no name of a workflow';
  }
  const active = after(ACTIVE_PREFIX);
  const removed = after(REMOVED_PREFIX);
  const thread = active ?? removed ?? after(CLAIMS_PREFIX);
  if (thread === undefined) return 'it is no ref of a thread or a workflow';
  if (!isThreadId(thread)) return 'its name is no thread id';
  if (active !== undefined) return { kind: 'thread', thread, date: undefined };
  return { kind: removed === undefined ? 'claim' : 'removed', thread };
}

/** The ref of a thread's tip; the same in every repository. */
export function refOfTip(thread: ThreadId, { endedOn }: Tip): RefName {
  return parseRefName(endedOn === undefined ? ACTIVE_PREFIX + thread : `${HISTORY_PREFIX}${endedOn}/${thread}`);
}

/** The edit that deletes the ref of a thread's tip, if it still points there. */
export function deletionOf(thread: ThreadId, tip: Tip): { name: RefName; value: null; expected: ObjectId } {
  return { name: refOfTip(thread, tip), value: null, expected: tip.id };
}

/** The shared refs of one repository, by what they belong to. */
export type SortedRefs = {
  /** The tips of each thread: ended ones in the order of their refs' names, then the active one. */
  threads: Map<ThreadId, Tip[]>;
  workflows: Map<string, ObjectId>;
  /** Removal marks. */
  removed: Map<ThreadId, ObjectId>;
  /** Claims of workers; a repository has none but those of its remotes. */
  claims: Map<ThreadId, ObjectId>;
  /** The list of archived threads. */
  archive: ObjectId | undefined;
  /** Refs with a name that no shared ref has, and what is wrong with the name. */
  strays: Map<string, string>;
};

export function sortRefs(refs: Iterable<{ name: string; id: ObjectId }>): SortedRefs {
  const standing: SortedRefs = {
    threads: new Map(),
    workflows: new Map(),
    removed: new Map(),
    claims: new Map(),
    archive: undefined,
    strays: new Map(),
  };
  for (const { name, id } of refs) {
    const ref = parseSharedRef(name);
    if (typeof ref === 'string') standing.strays.set(name, ref);
    else if (ref.kind === 'archive') standing.archive = id;
    else if (ref.kind === 'workflow') standing.workflows.set(ref.workflow, id);
    else if (ref.kind === 'removed') standing.removed.set(ref.thread, id);
    else if (ref.kind === 'claim') standing.claims.set(ref.thread, id);
    else {
      const tips = standing.threads.get(ref.thread) ?? [];
      standing.threads.set(ref.thread, [...tips, { id, endedOn: ref.date }].toSorted(inOrder));
    }
  }
  return standing;
}

export async function readSortedRefs(repository: Pick<Repository, 'refs'>, onDamage?: OnDamage): Promise<SortedRefs> {
  return sortRefs(await listSharedRefs(repository, onDamage));
}

/** Lists the shared refs of this repository. Its removal marks are those of threads that were redacted here. */
export async function listSharedRefs({ refs }: Pick<Repository, 'refs'>, onDamage?: OnDamage): Promise<RemoteRef[]> {
  const found: RemoteRef[] = [];
  for (const prefix of [ACTIVE_PREFIX, HISTORY_PREFIX, WORKFLOWS_PREFIX, REMOVED_PREFIX]) {
    found.push(...(await refs.list(prefix, onDamage)));
  }
  return found;
}

/** Ended tips come before the active one, and sort by the names of their refs. */
function inOrder(a: Tip, b: Tip): number {
  if (a.endedOn === b.endedOn) return 0;
  if (a.endedOn === undefined) return 1;
  return b.endedOn === undefined || a.endedOn < b.endedOn ? -1 : 1;
}

const MAX_TRIES = 20;

/** The most refs that one transaction changes: it holds the locks of all of them. */
export const MAX_TOGETHER = 500;

/** The tracking ref, in this repository, of a configured remote's ref such as `refs/threads/<ulid>`. */
function trackingRef(remote: string, name: string): RefName {
  return parseRefName(trackingName(remote, name));
}

/** The name of the same, also for a beginning of names or a pattern. */
export function trackingName(remote: string, name: string): string {
  return name.replace(/^refs\/(?:uwf\/)?/, `${REMOTES_PREFIX}${remote}/`);
}

/**
 * Reads the tracking refs of a remote, under the remote's names. A plain `git fetch` may have written them, so their commits
 * may be unchecked. A remote without a name in git's configuration has none.
 */
export async function readTracked({ refs }: Repository, remote: Remote): Promise<Map<string, ObjectId>> {
  if (!remote.isConfigured) return new Map();
  const prefix = `${REMOTES_PREFIX}${remote.name}/`;
  const found = await refs.list(prefix);
  return new Map(found.map(({ name, id }) => [nameThere(name.slice(prefix.length)), id]));
}

/** Reads one tracking ref, by the remote's name for it. */
export async function readTrackedRef(
  { refs }: Pick<Repository, 'refs'>,
  remote: Pick<Remote, 'name' | 'isConfigured'>,
  name: string,
): Promise<ObjectId | undefined> {
  return remote.isConfigured ? refs.read(trackingRef(remote.name, name)) : undefined;
}

function nameThere(rest: string): string {
  return /^(?:removed|claims|archive)\//.test(rest) ? `refs/uwf/${rest}` : `refs/${rest}`;
}

/** What a ref of the remote has become; `null` if it was deleted. */
type News = { name: string; value: ObjectId | null };

/** The edits that bring the tracking refs up to date with changes at the remote. */
export function trackingEdits(remote: Remote, tracked: ReadonlyMap<string, ObjectId>, news: Iterable<News>): RefEdit[] {
  if (!remote.isConfigured) return [];
  return [...news]
    .map(({ name, value }) => ({ name: trackingRef(remote.name, name), expected: tracked.get(name) ?? null, value }))
    .filter(({ expected, value }) => expected !== value);
}

/** Updates the tracking refs after a push. Of two processes that do so at once the last wins: its information is newer. */
export async function remember(repository: Repository, remote: Remote, news: readonly News[]): Promise<void> {
  await againIfMoved(MAX_TRIES, async () => {
    await updateTracking(repository, trackingEdits(remote, await readTracked(repository, remote), news));
  });
}

/** Makes edits of tracking refs, in several transactions. */
export async function updateTracking({ refs }: Repository, edits: readonly RefEdit[]): Promise<void> {
  for (let at = 0; at < edits.length; at += MAX_TOGETHER) await refs.update(edits.slice(at, at + MAX_TOGETHER));
}

export function refsOf(tracked: ReadonlyMap<string, ObjectId>): RemoteRef[] {
  return [...tracked].map(([name, id]) => ({ name, id }));
}

/**
 * What a plain `git fetch` of a remote copies to its tracking refs. Left out are claims, which change by the second, and the list
 * of the archive: git refuses a whole fetch for one name that the remote does not have.
 *
 * The copies may be forced and pruned: only tracking refs are written, so no thread of this repository can be overwritten or
 * deleted. There are no refspecs for `git push`, because a forced push replaces what the remote has.
 */
export function trackedRefs(remote: string): FetchedRefs[] {
  const copied = SHARED_PATTERNS.filter((pattern) => pattern !== LIST_REF && !pattern.startsWith(CLAIMS_PREFIX));
  return copied.map((source) => ({ source, target: trackingName(remote, source) }));
}

/** Finds, for each thread, the remotes that had it when they were last seen, by their names in git's configuration. */
export async function lastSeenAt({ refs }: Pick<Repository, 'refs'>): Promise<Map<string, string[]>> {
  const seen = new Map<string, string[]>();
  for (const { name } of await refs.list(REMOTES_PREFIX)) {
    const { remote, thread } = ofThread.exec(name.slice(REMOTES_PREFIX.length))?.groups ?? {};
    if (remote === undefined || thread === undefined) continue;
    seen.set(thread, [...(seen.get(thread) ?? []), remote]);
  }
  return seen;
}

const ofThread = /^(?<remote>.+)\/(?:threads|history\/[^/]+)\/(?<thread>[^/]+)$/;

/** The archive of a remote: the list, and the commit that its ref is at. */
export type ArchiveThere = {
  list: ArchiveList;
  commit: ObjectId | undefined;
  /** What is wrong with the list, which counts as empty then. */
  fault?: string;
};

/**
 * Opens the list of a remote's archive. If the list is not here yet, fetches it, and nothing else.
 * @param there the remote's refs
 */
export async function openArchiveThere(
  repository: Repository,
  remote: Remote,
  there: readonly RemoteRef[],
  options: Pick<FetchRequest, 'signal' | 'onProgress'>,
): Promise<ArchiveThere> {
  const { objects } = repository;
  const commit = there.find(({ name }) => name === LIST_REF)?.id;
  if (commit === undefined) return { list: new ArchiveList(objects, commit), commit };
  if (await objects.has(commit)) {
    // The ref can lead to anything, also to what is here for another reason. A list that a fetch took in was checked.
    const isChecked = (await readTrackedRef(repository, remote, LIST_REF)) === commit;
    const fault = isChecked ? undefined : await findListFault(objects, commit);
    return fault === undefined
      ? { list: new ArchiveList(objects, commit), commit }
      : { list: new ArchiveList(objects, undefined), commit, fault };
  }
  const brought = await bringList(repository, remote, options);
  return { ...brought, list: new ArchiveList(objects, brought.fault === undefined ? brought.commit : undefined) };
}

export function tipOfArchived({ end, endedOn }: ArchivedThread): Tip {
  return { id: end, endedOn, isArchived: true };
}

/**
 * Fetches the list of a remote's archive, and nothing else, and checks it.
 * @returns what its ref is at, and what is wrong with it; a list with a fault is not stored
 */
async function bringList(
  repository: Repository,
  remote: Remote,
  { signal, onProgress }: Pick<FetchRequest, 'signal' | 'onProgress'>,
): Promise<{ commit: ObjectId | undefined; fault?: string }> {
  const incoming = await remote.fetch({ refs: [LIST_REF], signal, onProgress });
  try {
    const commit = incoming.refs.find(({ name }) => name === LIST_REF)?.id;
    if (commit === undefined) return { commit };
    // Rarely needed.
    const { INCOMING_LIMITS, boundedObjects, incomingView } = await import('../verify/check-incoming.ts');
    const view = boundedObjects(incomingView(repository, incoming).objects, INCOMING_LIMITS);
    const fault = await findListFault(view, commit);
    if (fault !== undefined) return { commit, fault };
    const guard = await incoming.accept([commit]);
    try {
      await remember(repository, remote, [{ name: LIST_REF, value: commit }]);
    } finally {
      await guard.release();
    }
    return { commit };
  } finally {
    await incoming.discard();
  }
}

/** A remote has no thread of this id or prefix. */
export class ThreadNotThere extends UwfError {
  constructor(text: string, remote: string) {
    super(`${remote} has no thread '${text}'`, {
      code: 'thread-not-there',
      kind: 'usage',
      hint: `run 'uwf thread list --remote=${remote}' to see what it has`,
      facts: { text, remote },
    });
  }
}

/** A thread of a remote, as the names of its refs describe it. */
export type RemoteThread = {
  thread: ThreadId;
  /** ISO 8601, UTC: the time in its id. */
  startedAt: string;
  /** The UTC day on which it ended; null if it goes on. */
  endedOn: string | null;
  head: ObjectId;
  /** Whether this repository has the thread: at the same commit, at another one, or not at all. */
  here: 'same' | 'other' | 'none';
};

/**
 * Lists the threads of a remote, newest first. Reads its refs and no object, so only the form of the names is checked.
 *
 * @param which active threads, ended ones, or both
 */
export async function listRemoteThreads(
  repository: Pick<Repository, 'refs'>,
  remote: Remote,
  which: { active?: boolean; ended?: boolean },
  signal?: AbortSignal,
): Promise<RemoteThread[]> {
  // An interrupted ending leaves two refs, so an active thread is known only from the ended ones, too.
  const refs = await remote.list([`${ACTIVE_PREFIX}*`, `${HISTORY_PREFIX}*`], signal);
  const here = await readSortedRefs(repository);
  const threads: RemoteThread[] = [];
  for (const [thread, [tip]] of sortRefs(refs).threads) {
    const isEnded = tip?.endedOn !== undefined;
    if (tip === undefined || !(isEnded ? which.ended : which.active)) continue;
    const startedAt = new Date(threadTimeMs(thread)).toISOString();
    threads.push({
      thread,
      startedAt,
      endedOn: tip.endedOn ?? null,
      head: tip.id,
      here: presence(here, thread, tip.id),
    });
  }
  return threads.toSorted((a, b) => (a.thread < b.thread ? 1 : -1));
}

function presence(here: SortedRefs, thread: ThreadId, head: ObjectId): RemoteThread['here'] {
  const tip = here.threads.get(thread)?.[0];
  if (tip === undefined) return 'none';
  return tip.id === head ? 'same' : 'other';
}
