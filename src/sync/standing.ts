import type { OnDamage } from '../thread/find-thread.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { REDACTED_PREFIX } from '../thread/redaction-record.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../thread/thread-refs.ts';
import { WORKFLOWS_PREFIX } from '../workflow/workflow-refs.ts';
import { parseSharedRef, type Tip } from './shared-ref.ts';

/** How threads and workflows stand in one repository, by the names of its refs. */
export type Standing = {
  /** The tips of each thread: ends by the names of their refs, the active one last. */
  threads: Map<ThreadId, Tip[]>;
  workflows: Map<string, ObjectId>;
  /** The marks of threads that were removed. */
  removed: Map<ThreadId, ObjectId>;
  /** The records of threads that secrets were taken out of, by the ids that they had. */
  redacted: Map<ThreadId, ObjectId>;
  /** What lies among them and is no shared ref, and why it is none. */
  strays: Map<string, string>;
};

/** Sorts refs by what they are of. */
export function standingOf(refs: Iterable<{ name: string; id: ObjectId }>): Standing {
  const standing: Standing = {
    threads: new Map(),
    workflows: new Map(),
    removed: new Map(),
    redacted: new Map(),
    strays: new Map(),
  };
  for (const { name, id } of refs) {
    const ref = parseSharedRef(name);
    if (typeof ref === 'string') standing.strays.set(name, ref);
    else if (ref.kind === 'workflow') standing.workflows.set(ref.workflow, id);
    else if (ref.kind === 'removed') standing.removed.set(ref.thread, id);
    else if (ref.kind === 'redacted') standing.redacted.set(ref.thread, id);
    else {
      const tips = standing.threads.get(ref.thread) ?? [];
      standing.threads.set(ref.thread, [...tips, { id, endedOn: ref.date }].toSorted(inOrder));
    }
  }
  return standing;
}

/** Reads how threads and workflows stand here: four listings of names. */
export async function readStanding(repository: Pick<Repository, 'refs'>, onDamage: OnDamage = {}): Promise<Standing> {
  const refs = [];
  for (const prefix of [ACTIVE_PREFIX, HISTORY_PREFIX, WORKFLOWS_PREFIX, REDACTED_PREFIX])
    refs.push(...(await repository.refs.list(prefix, onDamage)));
  return standingOf(refs);
}

/** An end comes before what is active, and of several ends the one whose ref is the first by name. */
function inOrder(a: Tip, b: Tip): number {
  if (a.endedOn === b.endedOn) return 0;
  if (a.endedOn === undefined) return 1;
  return b.endedOn === undefined || a.endedOn < b.endedOn ? -1 : 1;
}
