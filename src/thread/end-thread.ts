import { encodeNode } from '../cas/node.ts';
import { ObjectBatch } from '../git/object-batch.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import { builtIn } from '../schema/built-in.ts';
import type { Outcome } from '../schema/built-in/thread-end.ts';
import { assertValid } from '../schema/validate.ts';
import { firstLine } from './commit-message.ts';
import { moveThread } from './move-thread.ts';
import { contentNode, draftCommit } from './thread-draft.ts';
import { activeRef, historyRef } from './thread-refs.ts';
import { advanceThread, type ThreadState } from './thread-state.ts';

/** How a thread is over. `returnCode`: 0 completed, 130 cancelled, 1 or a rule's own failed. */
export type EndDraft = { outcome: Outcome; returnCode: number; summary: string };

/**
 * Ends a thread: writes its last commit, and moves its ref to history.
 *
 * The history ref is created before the active one goes; an id found under both is ended.
 * @throws {ThreadMoved} if another writer was first; the thread has then not ended
 */
export async function endThread(repository: Repository, state: ThreadState, draft: EndDraft): Promise<ThreadState> {
  const atMs = repository.now();
  const summary = contentNode(draft.summary);
  const payload: JsonObject = {
    outcome: draft.outcome,
    returnCode: draft.returnCode,
    summary: summary.hash,
    start: state.start.hash,
    lastStep: state.steps.at(-1)?.commit.hash ?? null,
    completedAtMs: atMs,
  };
  await assertValid(builtIn['thread-end'], payload);
  const batch = new ObjectBatch(repository.objects.format);
  const tip = draftCommit(repository, batch, {
    file: 'end.json',
    node: encodeNode(builtIn['thread-end'], payload),
    typeName: 'thread-end',
    files: [{ path: 'summary.md', node: summary }],
    types: state.types,
    parents: [state.head.id],
    author: repository.committer,
    atMs,
    subject: `${draft.outcome}: ${firstLine(draft.summary)}`,
    body: draft.summary,
    bodyPath: 'summary.md',
    trailers: { status: draft.outcome },
  });
  const edits = [
    { name: historyRef(state.id, atMs), expected: null, value: tip },
    { name: activeRef(state.id), expected: state.head.id, value: null },
  ];
  const moved = await moveThread(repository, state.id, batch, tip, edits, { keep: false });
  return advanceThread(state, moved, '');
}
