import type { NodeHash } from '../../cas/hash.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import { keepersOf } from '../../cas/pins.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import type { Report } from './finding.ts';
import type { Progress } from './progress.ts';
import type { Standing } from './standing.ts';

/**
 * Checks the further parents of a commit: each is there because its node says so, and each that its node asks for is there.
 *
 * @param threads the further parents that are commits of threads
 * @param linked all hashes that nodes of the commit's tree link to
 */
export function checkParents(
  commit: ThreadCommit,
  before: Progress,
  threads: ReadonlyMap<ObjectId, Standing>,
  linked: ReadonlySet<NodeHash>,
  nodes: Iterable<StoredNode>,
  report: Report,
): void {
  const { parents } = commit.commit;
  if (new Set(parents).size < parents.length) report(null, 'it names a parent twice');
  const code = codeCommits(commit, nodes);
  const further = parents.slice(1);
  const missing = new Set([...hashesAskedFor(commit, before), ...code]);
  for (const id of further) {
    const thread = threads.get(id);
    if (missing.delete(id)) continue;
    // What is on the chain needs no further parent, whatever links to it.
    if (thread && (missing.delete(thread.hash) || (linked.has(thread.hash) && !before.owns(id)))) {
      checkThread(commit, before, thread, report);
    } else report(null, `nothing accounts for its parent ${id}`);
  }
  for (const what of missing) report(null, `no parent of it is ${what}, which its node asks for`);
}

/** The nodes of other threads' commits that have to be further parents. */
function hashesAskedFor(commit: ThreadCommit, before: Progress): NodeHash[] {
  if (commit.kind === 'step') {
    const { childThreads, replaces } = commit.node;
    return replaces === undefined ? childThreads : [...childThreads, replaces];
  }
  return commit.kind === 'resume' && before.head.kind !== 'suspend' ? [commit.node.suspension] : [];
}

/** The commits of somebody's code that a step keeps. */
function codeCommits(commit: ThreadCommit, nodes: Iterable<StoredNode>): ObjectId[] {
  const checkedOut = commit.kind === 'step' ? commit.node.workspace?.commit : undefined;
  const pinned = keepersOf(nodes).parents;
  return checkedOut === undefined ? pinned : [checkedOut, ...pinned];
}

function checkThread(commit: ThreadCommit, before: Progress, thread: Standing, report: Report): void {
  const { hash, start, state } = thread;
  if (commit.kind === 'resume' && thread.kind === 'end') {
    if (start.hash !== before.start.hash || state !== before.state) {
      report(null, `the end ${hash} that it goes on from is not the end of this thread`);
    }
  }
  if (commit.kind !== 'step') return;
  const { childThreads, role, replaces, number } = commit.node;
  if (childThreads.includes(hash)) {
    const { parentThread, parentState, parentRole } = start;
    if (parentThread !== before.start.hash || parentState !== before.state || parentRole !== role) {
      report('step.json', `its child thread ${hash} was not called by ${role} from the state before it`);
    }
  }
  if (replaces === hash) {
    const isSamePlace = thread.kind === 'step' && thread.number === number && start.hash === before.start.hash;
    if (!isSamePlace) report('step.json', `the step ${hash} that it replaces has another place`);
  }
}
