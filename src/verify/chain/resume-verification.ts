import { readCommitNodesOnce } from '../../cas/commit-nodes.ts';
import type { StepsSeen } from '../../expression/analysis/steps-seen.ts';
import { alone, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { findEventFile, findNodeAt, readThreadCommit, type ThreadCommit } from '../../thread/thread-commit.ts';
import { readChain } from '../../thread/read/read-chain.ts';
import { readPlace, type StepEntry, type ThreadPlace } from '../../thread/read/thread-state.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Replay, Replayer } from '../replay/replay.ts';
import { findKeptNodes, keepNodes } from './kept-nodes.ts';
import type { KnownNodes } from './known-nodes.ts';
import { ThreadProgress } from './progress.ts';
import { textPathOf, type Verified } from './verified.ts';
import { readRoles } from '../../thread/read/read-roles.ts';

/** Fewer nodes are not worth a file: to find them in their commits takes some hundredths of a second. */
export const MIN_KEPT_NODES = 1_000;

/**
 * Reads what the check of the next commit needs of a thread that was verified up to a commit: where its nodes are, and the
 * newest steps, as far as rules can see them. Does not verify them again.
 *
 * Reads few commits where this machine keeps what the others add up to, unless the rules list all steps.
 * @param known has no nodes yet
 * @param of the threads whose kept results are used
 * @param keepFor the thread for which results that are new are kept
 * @throws {CorruptThread} if the commit is no part of a thread
 */
export async function resumeVerification(
  known: KnownNodes,
  replayer: Replayer,
  head: ObjectId,
  of: readonly ThreadId[],
  keepFor: ThreadId | undefined,
): Promise<Verified> {
  const { repository } = replayer;
  const place = await readPlace(repository, head);
  const { start, tally } = place;
  for (const entry of start.index) known.recall(entry);
  const replay = replayer.begin(start, await textOf(repository, start));
  const seen = await replay.seen(known);
  const progress = ThreadProgress.upTo(place);
  const recall = (from: ObjectId, isEnough?: (id: ObjectId) => boolean): Promise<ObjectId[]> =>
    recallNodes(repository, { progress, known }, from, isEnough);
  // A rule that lists the steps needs all commits anyway.
  const kept = seen.members === undefined ? of.map((thread) => findKeptNodes(repository, thread)) : [];
  const steps = await recall(head, (id) => kept.some((nodes) => known.standOn(nodes, id, () => recall(id))));
  if (seen.members === undefined) {
    await resumeReplay(repository, replay, place, seen, known);
    // Of the commit that is here already, as the new ones may not be taken in.
    if (known.size >= MIN_KEPT_NODES) moveNodes(repository, keepFor, head, { progress, known });
  } else {
    for (const [at, id] of steps.toReversed().entries()) {
      const commit = await readThreadCommit(repository, id);
      const isTold = seen.members.has('text') || at >= steps.length - Math.max(1, seen.newest);
      if (commit.kind === 'step') await replay.add(commit, isTold ? await textOf(repository, commit) : '', known);
    }
  }
  return { progress, replay, known, tally };
}

/** Moves the nodes of a verified thread from memory to a file, where the next check finds them. */
export function moveNodes(
  repository: Repository,
  thread: ThreadId | undefined,
  head: ObjectId,
  verified: Pick<Verified, 'progress' | 'known'>,
): void {
  const { known } = verified;
  const kept = thread && keepNodes(repository, thread, head, known.nodes);
  known.standOn(kept, head, () => recallNodes(repository, verified, head), true);
}

/**
 * Walks back from a commit to the start, and records where the nodes are and which commits the steps are.
 *
 * @param isEnough tells a commit of which, with all before it, no more has to be known
 * @returns the steps, the newest first
 */
async function recallNodes(
  repository: Repository,
  { progress, known }: Pick<Verified, 'progress' | 'known'>,
  from: ObjectId,
  isEnough: (id: ObjectId) => boolean = () => false,
): Promise<ObjectId[]> {
  const steps: ObjectId[] = [];
  const further: ObjectId[] = [];
  for (let id = alone(from); !isEnough(id);) {
    const { parents, entries = [] } = await readCommitNodesOnce(repository, id);
    const kind = findEventFile(entries)?.kind;
    if (kind === undefined) throw new CorruptThread(id, 'its tree has no start, step, suspend, resume or end node');
    for (const entry of entries) known.recall(entry);
    if (kind === 'step') {
      progress.own(id);
      steps.push(id);
    }
    const others = kind === 'start' ? parents : parents.slice(1);
    further.push(...others.map(alone).toReversed());
    if (kind === 'start') break;
    const [parent] = parents;
    if (parent === undefined) throw new CorruptThread(id, 'it is no start and has no parent');
    id = alone(parent);
  }
  // Lookups begin with the newest.
  known.addBehindEarlier(further.toReversed());
  return steps;
}

/** Begins a replay with what rules see of the newest steps and of roles. */
async function resumeReplay(
  repository: Repository,
  replay: Replay,
  place: ThreadPlace,
  { newest, ends }: StepsSeen,
  known: KnownNodes,
): Promise<void> {
  const { head, tally } = place;
  const roles = await readRoles(repository, place, ends);
  const steps: StepEntry[] = [];
  for await (const commit of readChain(repository, head.id)) {
    if (steps.length >= Math.min(Math.max(1, newest), tally.steps)) break;
    if (commit.kind === 'step') steps.unshift({ commit, text: await textOf(repository, commit) });
  }
  await replay.resume(roles, steps, known);
}

/** The parents other than the previous commit of the same thread. */
export function furtherParents({ kind, commit: { parents } }: ThreadCommit): readonly ObjectId[] {
  return kind === 'start' ? parents : parents.slice(1);
}

/** The text that a commit adds; '' if it has none. */
async function textOf(repository: Repository, commit: ThreadCommit): Promise<string> {
  const path = textPathOf(commit);
  const node = path === undefined ? undefined : await findNodeAt(repository, commit, path);
  return node === undefined ? '' : payloadOf(node, 'content').text;
}
