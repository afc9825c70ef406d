import { canonicalJson } from '../../cas/canonical.ts';
import type { NodeHash } from '../../cas/hash.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { keysOf } from '../../json.ts';
import { MAX_ANCESTORS } from '../../schema/built-in/thread-step.ts';
import { addUsage, type Usage } from '../../schema/built-in/usage.ts';
import { callIdFor } from '../../thread/new-thread-id.ts';
import type { ThreadCommit } from '../../thread/thread-commit.ts';
import { parseThreadId } from '../../thread/thread-id.ts';
import { type CommitOf, type Tally, totalsOf } from '../../thread/thread-state.ts';
import type { ReportFault } from '../fault.ts';
import { codeCommits } from './check-form.ts';
import type { ThreadProgress } from '../chain/progress.ts';
import type { CommitPlace } from '../chain/commit-place.ts';

/** So much of a total is shown in a fault, in characters. */
const MAX_SHOWN = 200;

/** A field that is compared, and written as it is in a fault. */
type Field = string | number | boolean | null;

/**
 * Checks what a commit's node says about the commits before it: the start, the previous step, its number and ancestors, the
 * suspension that it answers, the last step before an end.
 *
 * @param before the thread up to the commit, by the chain of parents
 */
export function checkOrder(commit: ThreadCommit, before: ThreadProgress, report: ReportFault): void {
  const path = `${commit.kind}.json`;
  const differ = (field: string, is: Field, wanted: Field): void => {
    if (is !== wanted) report(path, `${field} is ${is}, by the commits before it has to be ${wanted}`);
  };
  if (commit.kind === 'start') return;
  differ('start', commit.node.start, before.start.hash);
  const { head, last } = before;
  if (head.kind === 'end') report(null, 'it stands on the end of its thread');
  if (head.kind === 'suspend' && commit.kind !== 'resume' && commit.kind !== 'end') {
    report(null, 'it stands on a suspension that was not resumed');
  }
  switch (commit.kind) {
    case 'step': {
      const { number, previous, ancestors, childThreads } = commit.node;
      if (new Set(childThreads).size < childThreads.length) report(path, 'it names a child thread twice');
      differ('number', number, before.steps + 1);
      differ('previous', previous, last?.hash ?? null);
      const wanted = last ? [last.hash, ...last.ancestors].slice(0, MAX_ANCESTORS) : [];
      differ('ancestors', ancestors.join(' '), wanted.join(' '));
      break;
    }
    case 'suspend':
      differ('previous', commit.node.previous, last?.hash ?? null);
      break;
    case 'resume':
      if (head.kind === 'suspend') differ('suspension', commit.node.suspension, head.hash);
      break;
    case 'end':
      differ('lastStep', commit.node.lastStep, last?.hash ?? null);
      differ('returnCode 0', commit.node.returnCode === 0, commit.node.outcome === 'completed');
  }
}

/** Checks what a commit's node says that the commits before it come to. */
export function checkTotals(commit: ThreadCommit, before: Tally, report: ReportFault): void {
  if (commit.kind === 'start') return;
  const { totals } = commit.node;
  const wanted = totalsOf(before);
  for (const field of keysOf(wanted)) {
    if (canonicalJson(totals[field]) === canonicalJson(wanted[field])) continue;
    const [is, was] = [totals[field], wanted[field]].map((value) => JSON.stringify(value).slice(0, MAX_SHOWN));
    report(`${commit.kind}.json`, `totals.${field} is ${is}, by the commits before it has to be ${was}`);
  }
}

/** Checks what a step says that the children have used whose ends it took in. */
export function checkChildUsage(
  { node }: CommitOf<'step'>,
  threads: ReadonlyMap<ObjectId, CommitPlace>,
  report: ReportFault,
): void {
  const ends = new Map([...threads.values()].map((place) => [place.hash, place]));
  const wanted = node.childThreads.reduce<Usage | null>((sum, end) => addUsage(sum, ends.get(end)?.used), null);
  const [is, was] = [node.childUsage ?? null, wanted].map((usage) => canonicalJson(usage));
  if (is !== was) report('step.json', `childUsage is ${is}, by the ends of its child threads it has to be ${was}`);
}

/** Checks what the start of a child thread says about its caller. */
export function checkCaller(start: CommitOf<'start'>, caller: CommitPlace | undefined, report: ReportFault): void {
  const { id, parentThread, parentState, parentRole, depth, call } = start.node;
  const differ = (field: string, is: Field, wanted: Field): void => {
    if (is !== wanted) report('start.json', `${field} is ${is}, by its caller it has to be ${wanted}`);
  };
  differ('parentThread', parentThread, caller?.start.hash ?? null);
  differ('parentState', parentState, caller?.state ?? null);
  differ('depth', depth, caller ? caller.start.depth + 1 : 0);
  if ((parentRole === null) !== (caller === undefined)) differ('parentRole', parentRole, caller ? 'a role' : null);
  if (call === undefined) {
    if (caller) report('start.json', 'it has a caller, and does not say which call it is');
    return;
  }
  const place = caller && parentRole !== null && { state: caller.stateAt, role: parentRole };
  if (!place) return report('start.json', 'it is a call, and there is no caller');
  const { thread, key, ordinal = 0, block } = call;
  differ('id', id, callIdFor({ ...place, thread: parseThreadId(thread), key, ordinal, block }));
}

/**
 * Checks the further parents of a commit: the node accounts for each of them, and none that the node requires is missing.
 *
 * @param threads the further parents that are commits of threads
 * @param linked all hashes that nodes of the commit's tree link to
 */
export function checkParents(
  commit: ThreadCommit,
  before: ThreadProgress,
  threads: ReadonlyMap<ObjectId, CommitPlace>,
  linked: ReadonlySet<NodeHash>,
  nodes: Iterable<StoredNode>,
  report: ReportFault,
): void {
  const { parents } = commit.commit;
  if (new Set(parents).size < parents.length) report(null, 'it names a parent twice');
  const code = codeCommits(commit, nodes);
  const further = parents.slice(1);
  const missing = new Set([...hashesAskedFor(commit, before), ...code]);
  for (const id of further) {
    const thread = threads.get(id);
    if (missing.delete(id)) continue;
    // A linked commit of the same chain needs no further parent.
    if (thread && (missing.delete(thread.hash) || (linked.has(thread.hash) && !before.owns(id)))) {
      checkThread(commit, before, thread, report);
    } else report(null, `nothing accounts for its parent ${id}`);
  }
  for (const what of missing) report(null, `no parent of it is ${what}, which its node asks for`);
}

/** The nodes of other threads' commits that have to be further parents. */
function hashesAskedFor(commit: ThreadCommit, before: ThreadProgress): NodeHash[] {
  if (commit.kind === 'step') {
    const { childThreads, replaces } = commit.node;
    return replaces === undefined ? childThreads : [...childThreads, replaces];
  }
  return commit.kind === 'resume' && before.head.kind !== 'suspend' ? [commit.node.suspension] : [];
}

function checkThread(commit: ThreadCommit, before: ThreadProgress, thread: CommitPlace, report: ReportFault): void {
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
