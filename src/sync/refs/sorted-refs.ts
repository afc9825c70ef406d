import type { ObjectId } from '../../git/format/object-id.ts';
import { parseRefName } from '../../git/format/ref-name.ts';
import type { RefName } from '../../git/ref-store.ts';
import { LIST_REF } from '../../thread/archive/archive-list.ts';
import { REMOVED_PREFIX } from '../../thread/remove-thread.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX, isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { whyNoWorkflowName } from '../../workflow/check/check-names.ts';
import { WORKFLOWS_PREFIX } from '../../workflow/registry/workflow-refs.ts';
import { CLAIMS_PREFIX } from '../claims/claim.ts';
import type { OnDamage } from '../../thread/find-thread.ts';
import type { RemoteRef } from '../../git/transport/remote.ts';
import type { Repository } from '../../git/repository.ts';

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

/** Sorts refs by what they belong to. */
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

/** Reads and sorts the shared refs of this repository. */
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
