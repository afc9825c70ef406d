import { ObjectBatch } from '../git/object-batch.ts';
import type { AgentRecord } from '../schema/built-in/agent.ts';
import { startThread, type PinnedWorkflow, type ThreadParent } from '../thread/start-thread.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { Limits, WorkflowDefinition } from '../workflow/definition.ts';
import { writeWorkflowTree } from '../workflow/write-workflow-tree.ts';
import { admitWorkflow } from './admission.ts';
import { cleanDefinition } from './clean-definition.ts';
import { bindingFor, getBinding } from './config.ts';
import type { EngineContext } from './context.ts';
import { describeThread, type ThreadView } from './describe.ts';
import { prepareRecord } from './prepare-agent.ts';
import { subWorkflowOf } from './sub-workflow.ts';
import { tellTaken } from './tell-taken.ts';

/** What a new thread is to be. */
export type StartOptions = {
  definition: WorkflowDefinition;
  prompt: string;
  limits?: Limits;
  /** Refuse to start while a role has no agent on this machine; default: only the steps need them. */
  requireAgents?: boolean;
};

/** Starts a thread of its own, with `requireAgents` once they were admitted; see `Engine.start`. */
export async function startNew(context: EngineContext, options: StartOptions): Promise<ThreadView> {
  const { definition, requireAgents } = options;
  if (requireAgents) {
    for (const role of Object.keys(definition.roles)) getBinding(context.config, definition.name, role);
    await admitWorkflow(context, definition);
  }
  const state = await start(context, options);
  return describeThread(context, state.id);
}

/**
 * Writes the start of a thread: its definition, the definitions of the sub-workflows its roles call on this machine, and
 * a record of who would do each role. Roles without an agent are left out of the record.
 */
export async function start(
  context: EngineContext,
  options: StartOptions,
  parent?: ThreadParent & { id: ThreadId },
): Promise<ThreadState> {
  const { repository } = context;
  const redaction = context.redaction();
  const definition = await cleanDefinition(redaction, options.definition);
  const batch = new ObjectBatch(repository.objects.format);
  const children: Record<string, PinnedWorkflow> = {};
  const agents: Record<string, AgentRecord> = {};
  for (const role of Object.keys(definition.roles)) {
    const find = options.requireAgents ? getBinding : bindingFor;
    const binding = find(context.config, definition.name, role);
    if (!binding) continue;
    const name = subWorkflowOf(binding);
    if (name !== undefined) {
      const child = await cleanDefinition(redaction, await context.resolveWorkflow(name));
      children[role] = writeWorkflowTree(batch, child);
    }
    agents[role] = await prepareRecord(context, binding, children[role]?.hash);
  }
  const state = await startThread(repository, batch, {
    workflow: writeWorkflowTree(batch, definition),
    prompt: redaction.text(options.prompt),
    agents,
    children,
    limits: options.limits,
    parent,
    redacted: redaction.taken,
  });
  const started = { thread: state.id, workflow: definition.name, head: state.head.id, parent: parent?.id ?? null };
  context.tell({ event: 'thread.started', ...started });
  tellTaken(context, { thread: state.id, role: null }, redaction);
  // Whoever follows the caller is to know where to look on.
  if (parent) context.journal.write({ event: 'thread.started', ...started }, parent.id);
  return state;
}
