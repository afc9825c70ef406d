import type { NodeHash } from '../cas/hash.ts';
import type { NodeFile } from '../cas/node-tree.ts';
import { encodeNode } from '../cas/node.ts';
import { pathName } from '../cas/path-name.ts';
import { assertTextFits } from '../cas/limits.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { type ObjectBatch, publish } from '../git/stores/publish.ts';
import type { JsonObject } from '../json.ts';
import { builtIn, encodeBuiltIns } from '../schema/built-in.ts';
import type { AgentRecord } from '../schema/built-in/workflow.ts';
import type { Limits, Redacted } from '../schema/built-in/schema-parts.ts';
import { FORMAT, type ThreadCall } from '../schema/built-in/thread-start.ts';
import { agentNode, contentNode, draftCommit, taken } from './draft-commit.ts';
import { newThreadId } from './new-thread-id.ts';
import { activeRef, type ThreadId } from './thread-id.ts';
import { readState, type ThreadState } from './thread-state.ts';

/** A definition whose tree is in the batch of the start. */
export type PinnedWorkflow = { name: string; hash: NodeHash; tree: ObjectId };

/** The caller of a child thread. */
export type ThreadParent = {
  /** The caller's start node. */
  thread: NodeHash;
  /** The caller's last step at the moment of the call, or its start. */
  state: NodeHash;
  /** The caller's role that asked for the child. */
  role: string;
  /** The caller's head commit at that moment: the parent of the child's start. */
  head: ObjectId;
  /** Identifies the call. */
  call: ThreadCall;
};

export type StartRequest = {
  /** Default: a new one. */
  id?: ThreadId | undefined;
  /** How many threads lie above it; default: none. */
  depth?: number | undefined;
  workflow: PinnedWorkflow;
  prompt: string;
  /** The agents of the roles on this machine, as a record: nothing is decided from it later. */
  agents: Readonly<Record<string, AgentRecord>>;
  /** Definitions of sub-workflows, by the role that calls them. */
  children?: Readonly<Record<string, PinnedWorkflow>>;
  limits?: Limits | undefined;
  parent?: ThreadParent | undefined;
  /** The commit that the thread's own work tree is made from. */
  base?: ObjectId | undefined;
  /** What was redacted in the prompt. */
  redacted?: Redacted | undefined;
};

/**
 * Starts a thread: writes its first commit and its ref. The commit contains everything the thread needs later: the
 * definition, the definitions of its sub-workflows, and the schemas of all built-in types.
 *
 * @param batch contains the workflow trees of the request
 */
export async function startThread(
  repository: Repository,
  batch: ObjectBatch,
  request: StartRequest,
): Promise<ThreadState> {
  assertTextFits('the prompt', request.prompt);
  const startedAtMs = repository.now();
  const { id = newThreadId(repository, startedAtMs), depth = 0 } = request;
  const prompt = contentNode(request.prompt);
  const agents = Object.entries(request.agents).map(([role, agent]) => ({ role, node: agentNode(agent) }));
  const payload: JsonObject = {
    format: FORMAT,
    id,
    workflow: request.workflow.hash,
    prompt: prompt.hash,
    agents: Object.fromEntries(agents.map(({ role, node }) => [role, node.hash])),
    depth,
    ...(request.limits && { limits: request.limits }),
    parentThread: request.parent?.thread ?? null,
    parentState: request.parent?.state ?? null,
    parentRole: request.parent?.role ?? null,
    ...(request.parent && { call: request.parent.call }),
    ...(request.base && { base: request.base }),
    ...taken(request),
    startedAtMs,
  };
  const node = encodeNode(builtIn['thread-start'], payload);
  const files: NodeFile[] = [
    { path: 'prompt.md', node: prompt },
    ...agents.map((agent) => ({ path: `agents/${pathName(agent.role)}.json`, node: agent.node })),
    ...encodeBuiltIns().map((type) => ({ path: `types/${type.hash}.json`, node: type })),
  ];
  const children = Object.entries(request.children ?? {});
  const commit = draftCommit(repository, batch, {
    kind: 'start',
    node,
    files,
    subtrees: [
      { path: 'workflow', id: request.workflow.tree },
      ...children.map(([role, child]) => ({ path: `children/${pathName(role)}`, id: child.tree })),
    ],
    parents: [request.parent?.head, request.base].filter((id) => id !== undefined),
    before: undefined,
    atMs: startedAtMs,
    beside: { text: request.prompt, workflow: request.workflow.name },
  });
  const tip = batch.addCommit(commit);
  await publish(repository, batch, [{ name: activeRef(id), expected: null, value: tip }]);
  return readState(repository, id, tip);
}
