import { readCommitNodesOnce } from '../../cas/commit-nodes.ts';
import type { StepsSeen } from '../../expression/analysis/steps-seen.ts';
import { alone, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { findEventFile, findNodeAt, readThreadCommit, type ThreadCommit } from '../../thread/thread-commit.ts';
import { readChain, readRoles } from '../../thread/thread-chain.ts';
import { addToTally, readPlace, type StepEntry, type Tally, type ThreadPlace } from '../../thread/thread-state.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import type { Replay, Replayer } from '../replay/replay.ts';
import { findChain } from './find-chain.ts';
import type { EarlierCommit, EarlierCommits, KnownNodes } from './known-nodes.ts';
import { ThreadProgress } from './progress.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import { nextOfMessage } from '../../thread/commit-message.ts';
import type { ReportFault } from '../fault.ts';

/** The facts about earlier commits that the check of a commit needs. */
export type Verified = { progress: ThreadProgress; replay: Replay; known: KnownNodes; tally: Tally };

/** The path of the text that rules can see: the prompt or the reply. */
export function textPathOf({ kind }: Pick<ThreadCommit, 'kind'>): string | undefined {
  return kind === 'start' ? 'prompt.md' : kind === 'step' ? 'output.md' : undefined;
}

/**
 * Reads what the check of the next commit needs of a thread that was verified up to a commit: its totals, and the newest steps, as far
 * as rules can see them. Does not verify them again. Reads few commits, unless the rules list all steps.
 *
 * @param known has no nodes yet
 * @param lookup by which a new hash is compared with those of commits that are not read
 * @throws {CorruptThread} if the commit is no part of a thread
 */
export async function resumeVerification(
  known: KnownNodes,
  replayer: Replayer,
  head: ObjectId,
  lookup: EarlierCommits['lookup'],
): Promise<Verified> {
  const { repository } = replayer;
  const place = await readPlace(repository, head);
  const { start, tally } = place;
  const progress = ThreadProgress.upTo(place);
  for (const entry of start.index) known.recall(entry);
  known.standOn({ head, lookup, read: (id) => readEarlier(repository, progress, id) });
  const replay = replayer.begin(start, await textOf(repository, start));
  const { members, newest, ends } = await replay.seen(known);
  if (members === undefined) await resumeReplay(repository, replay, place, { newest, ends }, known);
  else {
    const { ids, wrong } = await findChain(repository, head);
    if (wrong !== undefined) throw new CorruptThread(head, wrong);
    for (const id of ids.toReversed()) {
      const commit = await readThreadCommit(repository, id);
      if (commit.kind !== 'step') continue;
      const isTold = members.has('text') || commit.node.number > tally.steps - Math.max(1, newest);
      await replay.add(commit, isTold ? await textOf(repository, commit) : '', known);
    }
  }
  return { progress, replay, known, tally };
}

/** Reads where the nodes of a verified commit are, and adds it to the progress if it is a step. */
async function readEarlier(repository: Repository, progress: ThreadProgress, id: ObjectId): Promise<EarlierCommit> {
  const { parents, entries = [] } = await readCommitNodesOnce(repository, id);
  const kind = findEventFile(entries)?.kind;
  if (kind === undefined) throw new CorruptThread(id, 'its tree has no start, step, suspend, resume or end node');
  if (kind === 'step') progress.own(id);
  const [first, ...others] = parents.map(alone);
  if (kind === 'start') return { entries, previous: undefined, furtherParents: parents.map(alone) };
  if (first === undefined) throw new CorruptThread(id, 'it is no start and has no parent');
  return { entries, previous: first, furtherParents: others };
}

/** Begins a replay with what rules see of the newest steps and of roles. */
async function resumeReplay(
  repository: Repository,
  replay: Replay,
  place: ThreadPlace,
  { newest, ends }: Pick<StepsSeen, 'newest' | 'ends'>,
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

/**
 * Adds a checked commit, and checks what its message tells of the rules.
 *
 * @param before the state before the commit, of which all but the tally is changed; `undefined` for a start
 * @param text the node of the text that rules see; a missing one has been reported, and counts as ''
 * @throws {CorruptThread} if the first commit is no start
 */
export async function growVerified(
  before: Verified | undefined,
  commit: ThreadCommit,
  text: StoredNode | undefined,
  known: KnownNodes,
  replayer: Replayer,
  report: ReportFault,
): Promise<Verified> {
  const said = text === undefined ? '' : payloadOf(text, 'content').text;
  const tally = await addToTally(replayer.repository, before?.tally, commit);
  if (before === undefined) {
    if (commit.kind !== 'start') throw new CorruptThread(commit.id, 'its thread has no start');
    return { progress: new ThreadProgress(commit), replay: replayer.begin(commit, said), known, tally };
  }
  before.progress.advance(commit);
  if (commit.kind === 'step') {
    await before.replay.add(commit, said, known);
    const next = nextOfMessage(commit.commit.message);
    const faults = next === undefined ? [] : await before.replay.checkNext(before.progress, next, known);
    for (const what of faults) report(null, what);
  }
  return { ...before, tally };
}
