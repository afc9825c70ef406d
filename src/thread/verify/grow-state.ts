import type { StoredNode } from '../../cas/node-source.ts';
import type { Content } from '../../schema/built-in/content.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { ThreadId } from '../thread-id.ts';
import { advanceThread, advanceThreadBy, type ThreadState } from '../thread-state.ts';

/**
 * The state of a thread after one more commit whose nodes have been read; of its start if there is no state yet.
 *
 * @throws {CorruptThread} if it begins with anything but a start
 */
export function growState(
  id: ThreadId,
  state: ThreadState | undefined,
  commit: ThreadCommit,
  nodes: ReadonlyMap<string, StoredNode>,
): ThreadState {
  if (state !== undefined) return advanceThread(state, commit, textOf(nodes.get('output.md')));
  if (commit.kind !== 'start') throw new CorruptThread(commit.id, 'its thread has no start');
  const common = { id, head: commit, start: commit, prompt: textOf(nodes.get('prompt.md')) };
  return { ...common, steps: [], pauses: [], suspendedTurns: [], stepsAtLastResume: 0, end: undefined };
}

/**
 * The state of a thread after many commits, its start first; `undefined` if there are none.
 *
 * @throws {CorruptThread} if the first is no start
 */
export function growWholeState(
  id: ThreadId,
  commits: readonly { commit: ThreadCommit; nodes: ReadonlyMap<string, StoredNode> }[],
): ThreadState | undefined {
  const [first, ...later] = commits;
  if (first === undefined) return undefined;
  const start = growState(id, undefined, first.commit, first.nodes);
  return advanceThreadBy(
    start,
    later.map(({ commit, nodes }) => ({ commit, text: textOf(nodes.get('output.md')) })),
  );
}

/** The text of a content node; '' where it is none, which has been reported. */
function textOf(node: StoredNode | undefined): string {
  return (node?.payload as Partial<Content> | undefined)?.text ?? '';
}
