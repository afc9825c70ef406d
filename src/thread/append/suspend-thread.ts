import type { NodeFile } from '../../cas/node-tree.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';
import { encodeTyped } from '../../schema/built-in.ts';
import type { AgentRecord } from '../../schema/built-in/agent.ts';
import type { Redacted } from '../../schema/built-in/schema-parts.ts';
import type { SuspendCause } from '../../schema/built-in/thread-suspend.ts';
import type { Usage } from '../../schema/built-in/usage.ts';
import { assertValid } from '../../schema/validate.ts';
import { appendCommit } from './append-commit.ts';
import type { ThreadId } from '../thread-id.ts';
import { agentNode, attemptFiles, contentNode, roleIdentity, taken, type AttemptDraft } from './draft-commit.ts';
import { activeRef } from '../thread-refs.ts';
import type { ThreadState } from '../read/thread-state.ts';
import { cutToFit, MAX_REASON_BYTES } from '../../cas/text-limit.ts';
import { traceFiles, type TraceDraft } from './trace-files.ts';

/** A turn that ended without a step, and why. */
export type SuspensionDraft = {
  role: string;
  reason: string;
  cause: SuspendCause;
  /** What the agent said before; absent if nothing. */
  text?: string | undefined;
  prompt: string;
  agent: AgentRecord;
  rule: number | null;
  usage: Usage | null;
  attempts: readonly AttemptDraft[];
  /** Absent if the agent reports no trace. */
  trace?: TraceDraft | undefined;
  /** When the turn can be taken again, in ms since 1970; absent if that does not depend on the time. */
  due?: number | undefined;
  /** What was redacted in its texts. */
  redacted?: Redacted | undefined;
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
  const prompt = contentNode(draft.prompt);
  const agent = agentNode(draft.agent);
  const content = draft.text ? contentNode(cutToFit(draft.text)) : undefined;
  const attempts = attemptFiles(draft.attempts);
  const trace = draft.trace && traceFiles(draft.trace, draft.role, agent.hash);
  const payload: JsonObject = {
    role: draft.role,
    reason: cutToFit(draft.reason, MAX_REASON_BYTES),
    cause: draft.cause,
    start: state.start.hash,
    previous: state.last?.hash ?? null,
    content: content?.hash ?? null,
    react: trace?.session ?? null,
    attempts: attempts.hashes,
    agent: agent.hash,
    prompt: prompt.hash,
    rule: draft.rule,
    usage: draft.usage,
    ...(draft.due !== undefined && { due: draft.due }),
    ...taken(draft),
    suspendedAtMs: atMs,
  };
  const node = encodeTyped('thread-suspend', payload);
  await assertValid(node.type, payload);
  const files: NodeFile[] = [
    { path: 'prompt.md', node: prompt },
    { path: 'agent.json', node: agent },
    ...attempts.files,
    ...(trace?.files ?? []),
  ];
  if (content) files.push({ path: 'output.md', node: content });
  const commit = {
    kind: 'suspend' as const,
    node,
    files,
    parents: [state.head.id],
    author: roleIdentity(draft.role, draft.agent.name),
    atMs,
    subject: `${draft.role} waits: ${draft.reason}`,
    body: draft.text ?? '',
    bodyPath: 'output.md',
    trailers: { role: draft.role, status: 'suspended', agent: draft.agent.name },
  };
  const id = draft.forkAs ?? state.id;
  const keep = content !== undefined || trace !== undefined || draft.usage !== null || draft.attempts.length > 0;
  const move = { ref: activeRef(id), expected: draft.forkAs ? null : state.head.id, keep };
  return appendCommit(repository, { ...state, id }, commit, move);
}
