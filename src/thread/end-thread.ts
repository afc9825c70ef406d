import { encodeNode } from '../cas/node.ts';
import { RefMoved } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import { inPlaceOf } from '../or-else.ts';
import { builtIn } from '../schema/built-in.ts';
import type { Outcome } from '../schema/built-in/thread-start.ts';
import type { UsageByRole } from '../schema/built-in/schema-parts.ts';
import { assertValid } from '../schema/validate.ts';
import { appendCommit } from './append-commit.ts';
import type { Beside } from './commit-message.ts';
import { contentNode } from './draft-commit.ts';
import { readAgent } from './step-view.ts';
import { readTextAt } from './thread-commit.ts';
import { activeRef, historyRef, type ThreadPointer } from './thread-id.ts';
import { type ThreadState, totalsOf } from './thread-state.ts';

/** How a thread ends. `returnCode`: 0 if completed, 130 if cancelled, 1 or the rule's own if failed. */
type EndDraft = {
  outcome: Outcome;
  returnCode: number;
  summary: string;
  /** What the children have used of the turn that it cut off, by the roles that called them. */
  leftUsage?: UsageByRole | undefined;
};

/**
 * Ends a thread: writes its last commit, creates its history ref and deletes the active one. A thread with both refs counts
 * as ended.
 * @throws {ThreadMoved} if another writer was first; the thread has then not ended
 */
export async function endThread(repository: Repository, state: ThreadState, draft: EndDraft): Promise<ThreadState> {
  const atMs = repository.now();
  const summary = contentNode(draft.summary);
  const payload: JsonObject = {
    totals: totalsOf(state.tally),
    outcome: draft.outcome,
    returnCode: draft.returnCode,
    summary: summary.hash,
    start: state.start.hash,
    lastStep: state.last?.hash ?? null,
    ...(draft.leftUsage && { leftUsage: draft.leftUsage }),
    completedAtMs: atMs,
  };
  const node = encodeNode(builtIn['thread-end'], payload);
  await assertValid(node.type, payload);
  const commit = {
    kind: 'end' as const,
    node,
    files: [{ path: 'summary.md', node: summary }],
    parents: [state.head.id],
    atMs,
    beside: {
      text: draft.summary,
      last: await findSummedUp(repository, state, draft.summary),
    },
  };
  return appendCommit(repository, state, commit, {
    ref: historyRef(state.id, atMs),
    expected: null,
    others: [{ name: activeRef(state.id), expected: state.head.id, value: null }],
    keep: false,
  });
}

/** The last step of a thread, if its text is the summary. */
async function findSummedUp(
  repository: Repository,
  { start, last }: ThreadState,
  summary: string,
): Promise<Beside['last']> {
  if (last === undefined || (await readTextAt(repository, last, 'output.md')) !== summary) return undefined;
  return { agent: await readAgent(repository, start, last), meta: last.node.meta };
}

/**
 * Finishes an ending that a crash interrupted: deletes the active ref of a thread that has a history ref. Does nothing for a
 * thread with one ref.
 *
 * If the active ref is no ancestor of the end (another client appended to it, or pushed it back), a fork keeps it first.
 */
export async function foldEnded(repository: Repository, ended: ThreadPointer): Promise<void> {
  if (!ended.isHistory) return;
  const ref = activeRef(ended.id);
  const active = await repository.refs.read(ref);
  if (active === undefined) return;
  // Loaded only now, because this is rare.
  const [{ readChain }, { keepAsFork }] = await Promise.all([
    import('./thread-chain.ts'),
    import('./append-commit.ts'),
  ]);
  let isBehind = false;
  for await (const { id } of readChain(repository, ended.head)) {
    isBehind = id === active;
    if (isBehind) break;
  }
  if (!isBehind) await keepAsFork(repository, ended.id, active);
  // If the ref has moved, another process did the same, or wrote to the ref. The next command deals with that.
  await repository.refs.update([{ name: ref, expected: active, value: null }]).catch(inPlaceOf(RefMoved, undefined));
}
