import type { AgentBinding } from '../../agent/load/agent-binding.ts';
import { nodesBehind } from '../../cas/commit-nodes.ts';
import { type NodeHash, parseNodeHash } from '../../cas/hash.ts';
import { pathName } from '../../cas/path-name.ts';
import type { Repository } from '../../git/repository.ts';
import { isJsonObject } from '../../json.ts';
import { CAS_KEY } from '../../schema/find-links.ts';
import { findNodeAt } from '../../thread/thread-commit.ts';
import { parseThreadId } from '../../thread/thread-id.ts';
import type { StartedThread, ThreadState } from '../../thread/thread-state.ts';
import type { WorkflowDefinition } from '../../workflow/definition.ts';
import { loadWorkflow } from '../../workflow/nodes.ts';
import type { Reading, Telling } from '../engine-context.ts';
import { branchOf } from '../events.ts';

/** The key under which the record of a role that runs a sub-workflow links to the definition pinned for it. */
export const DEFINITION_KEY = 'definition';

/** The workflow that a binding runs as a child thread; `undefined` for every other agent. */
export function subWorkflowOf(binding: AgentBinding): string | undefined {
  const name = binding.package === 'builtin:workflow' ? binding.config['workflow'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/**
 * The definition of a sub-workflow that was pinned when the thread started, provided that the role still calls the
 * workflow of that name.
 */
export async function pinnedSubWorkflow(
  engine: Reading,
  state: StartedThread,
  role: string,
  name: string,
): Promise<NodeHash | undefined> {
  const stored = await findNodeAt(engine.repository, state.start, `agents/${pathName(role)}.json`);
  if (!isJsonObject(stored?.payload) || !isJsonObject(stored.payload['config'])) return undefined;
  const { workflow, [DEFINITION_KEY]: link } = stored.payload['config'];
  const hash = isJsonObject(link) ? link[CAS_KEY] : undefined;
  return workflow === name && typeof hash === 'string' ? parseNodeHash(hash) : undefined;
}

/** The definition a thread was started with: the thread's own copy, whatever was registered since. */
export function definitionOf(engine: Reading, state: StartedThread): Promise<WorkflowDefinition> {
  return pinnedDefinition(engine, state, state.start.node.workflow);
}

const definitions = new WeakMap<Repository, Map<NodeHash, WorkflowDefinition>>();

/** A definition that lies in a thread's start: its own, or a sub-workflow's. */
export async function pinnedDefinition(
  { repository }: Reading,
  state: { start: Pick<StartedThread['start'], 'id'> },
  hash: NodeHash,
): Promise<WorkflowDefinition> {
  const known = definitions.get(repository) ?? new Map<NodeHash, WorkflowDefinition>();
  definitions.set(repository, known);
  const definition = known.get(hash) ?? (await loadWorkflow(nodesBehind(repository, [state.start.id]), hash));
  known.set(hash, definition);
  return definition;
}

/** Tells that a thread goes on, if it is a branch. */
export function tellContinued(engine: Telling, { id, start }: ThreadState): void {
  const { call } = start.node;
  const branch = branchOf(call);
  if (call === undefined || branch === undefined) return;
  engine.tell({ event: 'branch.continued', thread: id, parent: parseThreadId(call.thread), branch });
}
