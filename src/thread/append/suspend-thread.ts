import { encodeNode } from '../../cas/node.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';
import { builtIn } from '../../schema/built-in.ts';
import type { SuspendCause } from '../../schema/built-in/thread-suspend.ts';
import { assertValid } from '../../schema/validate.ts';
import { appendCommit } from './append-commit.ts';
import type { ThreadId } from '../thread-id.ts';
import { contentNode } from './draft-commit.ts';
import { encodeTurn, type TurnFacts } from './encode-turn.ts';
import { activeRef } from '../thread-refs.ts';
import { totalsOf } from '../read/tally.ts';
import type { ThreadState } from '../read/thread-state.ts';
import { cutToFit, MAX_REASON_BYTES } from '../../cas/text-limit.ts';

/** A turn that ended without a step, and why. */
export type SuspensionDraft = TurnFacts & {
  reason: string;
  cause: SuspendCause;
  /** What the agent said before; absent if nothing. */
  text?: string | undefined;
  /** When the turn can be taken again, in ms since 1970; absent if that does not depend on the time. */
  due?: number | undefined;
  /** When the turn was over, in ms since 1970; default: now. */
  atMs?: number;
  /** The id of a fork that is suspended instead of the thread. */
  forkAs?: ThreadId;
};

/**
 * Suspends a thread.
 * @returns the thread, suspended
 * @throws {ThreadMoved} if another writer was first; a fork keeps the suspension if the turn cost something
 */
export async function suspendThread(
  repository: Repository,
  state: ThreadState,
  draft: SuspensionDraft,
): Promise<ThreadState> {
  const atMs = draft.atMs ?? repository.now();
  const { fields, files, agent } = encodeTurn(draft);
  const text = cutToFit(draft.text ?? '');
  const content = text === '' ? undefined : contentNode(text);
  const payload: JsonObject = {
    ...fields,
    totals: totalsOf(state.tally),
    reason: cutToFit(draft.reason, MAX_REASON_BYTES),
    cause: draft.cause,
    start: state.start.hash,
    previous: state.last?.hash ?? null,
    content: content?.hash ?? null,
    ...(draft.due !== undefined && { due: draft.due }),
    suspendedAtMs: atMs,
  };
  const node = encodeNode(builtIn['thread-suspend'], payload);
  await assertValid(node.type, payload);
  files.push({ path: 'agent.json', node: agent });
  if (content) files.push({ path: 'output.md', node: content });
  const commit = {
    kind: 'suspend' as const,
    node,
    files,
    parents: [state.head.id],
    atMs,
    beside: { text, agent: draft.agent },
  };
  const id = draft.forkAs ?? state.id;
  const keep = content !== undefined || draft.trace !== undefined || draft.usage !== null || draft.attempts.length > 0;
  const move = { ref: activeRef(id), expected: draft.forkAs ? null : state.head.id, keep };
  return appendCommit(repository, { ...state, id }, commit, move);
}
