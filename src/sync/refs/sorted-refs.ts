import type { OnDamage } from '../../thread/find/find-thread.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { RemoteRef } from '../../git/transport/remote.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { REMOVED_PREFIX } from '../../thread/remove/removal-mark.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../../thread/thread-refs.ts';
import { WORKFLOWS_PREFIX } from '../../workflow/registry/workflow-refs.ts';
import { parseSharedRef, type Tip } from './shared-ref.ts';

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
