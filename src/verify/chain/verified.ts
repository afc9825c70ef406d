import type { Replay, Replayer } from '../replay/replay.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import { nextOfMessage } from '../../thread/commit-message.ts';
import type { ReportFault } from '../fault.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import type { ThreadCommit } from '../../thread/thread-commit.ts';
import type { CommitPlace } from './commit-place.ts';
import type { KnownNodes } from './known-nodes.ts';
import { ThreadProgress } from './progress.ts';
import { addToTally, type Tally } from '../../thread/thread-state.ts';
import { payloadOf } from '../../schema/payload-of.ts';

/** The facts about earlier commits that the check of a commit needs. */
export type Verified = { progress: ThreadProgress; replay: Replay; known: KnownNodes; tally: Tally };

/** The path of the text that rules can see: the prompt or the reply. */
export function textPathOf({ kind }: Pick<ThreadCommit, 'kind'>): string | undefined {
  return kind === 'start' ? 'prompt.md' : kind === 'step' ? 'output.md' : undefined;
}

/**
 * Adds a checked commit, and checks what its message tells of the rules.
 *
 * @param before the state before the commit, of which all but the tally is changed; `undefined` for a start
 * @param text the node at {@link textPathOf}; a missing one has been reported, and counts as ''
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
  const tally = await addToTally(replayer.repository, before?.tally, commit);
  if (before === undefined) {
    if (commit.kind !== 'start') throw new CorruptThread(commit.id, 'its thread has no start');
    return { progress: new ThreadProgress(commit), replay: replayer.begin(commit, textOf(text)), known, tally };
  }
  before.progress.advance(commit);
  if (commit.kind === 'step') {
    await before.replay.add(commit, textOf(text), known);
    const next = nextOfMessage(commit.commit.message);
    const faults = next === undefined ? [] : await before.replay.checkNext(before.progress, next, known);
    for (const what of faults) report(null, what);
  }
  return { ...before, tally };
}

/** Adds the nodes of a caller that the start of its child names. */
export function addCaller(known: KnownNodes, { start, state, stateOid }: CommitPlace): void {
  known.addOneBehind(start.hash, start.oid);
  known.addOneBehind(state, stateOid);
}

function textOf(node: StoredNode | undefined): string {
  return node === undefined ? '' : payloadOf(node, 'content').text;
}
