import type { StoredNode } from '../../cas/node-source.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import type { Judge, Trial } from './check-commit.ts';
import type { KnownNodes } from './known-nodes.ts';
import { Progress } from './progress.ts';
import { payloadOf } from '../../schema/payload-of.ts';

/** What the check of a commit needs of those before it; grows with the thread. */
export type Verified = { progress: Progress; trial: Trial; known: KnownNodes };

/** Where the text lies that a commit adds to what rules see of its thread, if it adds any. */
export function textPathOf({ kind }: Pick<ThreadCommit, 'kind'>): string | undefined {
  return kind === 'start' ? 'prompt.md' : kind === 'step' ? 'output.md' : undefined;
}

/**
 * Goes on by a commit, of which the text of the prompt or the reply has been read.
 *
 * @param before what holds up to it; it is changed. `undefined` for a start
 * @param text the node that {@link textPathOf} tells of; none gives '', which has been reported
 * @throws {CorruptThread} if it begins with anything but a start
 */
export async function growVerified(
  before: Verified | undefined,
  commit: ThreadCommit,
  text: StoredNode | undefined,
  known: KnownNodes,
  judge: Judge,
): Promise<Verified> {
  if (before === undefined) {
    if (commit.kind !== 'start') throw new CorruptThread(commit.id, 'its thread has no start');
    return { progress: new Progress(commit), trial: judge(commit, textOf(text)), known };
  }
  before.progress.advance(commit);
  if (commit.kind === 'step') await before.trial.add(commit, textOf(text), known);
  return before;
}

function textOf(node: StoredNode | undefined): string {
  return node === undefined ? '' : payloadOf(node, 'content').text;
}
