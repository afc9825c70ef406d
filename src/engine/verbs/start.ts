import { ObjectBatch } from '../../git/stores/publish.ts';
import { UwfError } from '../../errors.ts';
import { faultOfLimit, limitNames } from '../../schema/built-in/schema-parts.ts';
import type { AgentRecord } from '../../schema/built-in/workflow.ts';
import { type PinnedWorkflow, startThread, type ThreadParent } from '../../thread/thread-verbs.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import type { Limits, WorkflowDefinition } from '../../workflow/definition.ts';
import { encodeWorkflow, writeWorkflowTree } from '../../workflow/nodes.ts';
import { prepareHashing } from '../../cas/hash.ts';
import { assertValid } from '../../schema/validate.ts';
import { admitWorkflow, prepareRecord } from '../agents/admission.ts';
import { bindingFor, getBinding } from '../config/config.ts';
import { subWorkflowOf } from '../children/sub-workflow.ts';
import type { Machine, Telling } from '../engine-context.ts';
import { describeThread, type ThreadView } from '../describe/describe.ts';
import { type WantedBase, wantsIsolation } from '../isolation/work-place.ts';
import { tellTaken } from '../engine-context.ts';
import { schemaWords } from '../../schema/typed-schema.ts';
import { InvalidWorkflow } from '../../workflow/source/source-map.ts';
import { validateWorkflow } from '../../workflow/check/validate-workflow.ts';
import { combineLimits } from '../limits/limits.ts';
import { enterRunTree } from '../limits/enter-run-tree.ts';
import { branchOf } from '../events.ts';
import type { RunTree } from '../limits/run-tree.ts';
import { newThreadId } from '../../thread/new-thread-id.ts';
import type { Redaction } from '../redact/redaction.ts';

export type StartOptions = {
  definition: WorkflowDefinition;
  prompt: string;
  limits?: Limits;
  /** Gives the thread a work tree of its own; a workflow that asks for one takes what is checked out by default. */
  base?: WantedBase;
  /** Refuse to start while a role has no agent on this machine; default: only the steps need them. */
  requireAgents?: boolean;
};

/** Starts a thread of its own, with `requireAgents` once they were admitted; see `Engine.start`. */
export async function startNew(engine: Machine & Telling, options: StartOptions): Promise<ThreadView> {
  const { definition, requireAgents } = options;
  await assertStorable(definition);
  const id = newThreadId(engine.repository);
  const above = enterRunTree(engine, id, definition.name);
  if (requireAgents) {
    for (const role of Object.keys(definition.roles)) getBinding(engine.config, definition.name, role);
    await admitWorkflow(engine, definition);
  }
  const state = await start(engine, options, above && { id, above });
  return describeThread(engine, state.id);
}

/** Where a thread is that an agent starts, or calls as a child. */
type ThreadPlace = {
  id?: ThreadId;
  /** The turn that it lies below. */
  above?: RunTree | undefined;
  /** Its caller. */
  parent?: ThreadParent & { id: ThreadId };
};

/**
 * Writes the start of a thread: its definition, the definitions of the sub-workflows its roles call on this machine, and
 * a record of who would do each role. Roles without an agent are left out of the record.
 */
export async function start(
  engine: Machine & Telling,
  options: StartOptions,
  { id, above, parent }: ThreadPlace = {},
): Promise<ThreadState> {
  const { repository } = engine;
  assertLimits(options.limits ?? {});
  const redaction = engine.redaction();
  const definition = await cleanDefinition(redaction, options.definition);
  const batch = new ObjectBatch(repository.objects.format);
  const children: Record<string, PinnedWorkflow> = {};
  const agents: Record<string, AgentRecord> = {};
  for (const role of Object.keys(definition.roles)) {
    const find = options.requireAgents ? getBinding : bindingFor;
    const binding = find(engine.config, definition.name, role);
    if (!binding) continue;
    const name = subWorkflowOf(binding);
    if (name !== undefined) {
      const child = await cleanDefinition(redaction, await engine.resolveWorkflow(name));
      children[role] = writeWorkflowTree(batch, child);
    }
    agents[role] = await prepareRecord(engine, binding, children[role]?.hash);
  }
  if (definition.blocks !== undefined) {
    const { pinBlocks } = await import('../blocks/prepare-block.ts');
    const pinned = await pinBlocks(engine, batch, definition, (child) => cleanDefinition(redaction, child));
    Object.assign(agents, pinned.agents);
    Object.assign(children, pinned.children);
  }
  const isApart = options.base !== undefined || wantsIsolation(definition);
  const { chooseBase } = isApart ? await import('../isolation/open-work-tree.ts') : {};
  const base = await chooseBase?.(engine, batch, options.base);
  const state = await startThread(repository, batch, {
    id,
    depth: above && above.depth + 1,
    workflow: writeWorkflowTree(batch, definition),
    prompt: redaction.text(options.prompt),
    agents,
    children,
    limits: above ? combineLimits(options.limits, { maxDepth: above.maxDepth }) : options.limits,
    parent,
    base: base?.id,
    redacted: redaction.taken,
  }).finally(base?.release);
  const branch = branchOf(parent?.call);
  const started = {
    thread: state.id,
    workflow: definition.name,
    head: state.head.id,
    parent: parent?.id ?? null,
    ...(branch && { branch }),
  };
  engine.tell({ event: 'thread.started', ...started });
  tellTaken(engine, { thread: state.id, role: null }, redaction);
  // A process that follows the caller learns here that it has a child.
  if (parent) engine.journal.write({ event: 'thread.started', ...started }, parent.id);
  return state;
}

/**
 * A definition without secrets. What its schemas name stays: replies are held against it.
 * @throws {InvalidWorkflow} if it is none any more
 */
export async function cleanDefinition(
  redaction: Redaction,
  definition: WorkflowDefinition,
): Promise<WorkflowDefinition> {
  const words = Object.values(definition.roles).flatMap(({ schema }) => [...schemaWords(schema)]);
  const clean = redaction.value(definition, new Set(words));
  if (clean === definition) return definition;
  const checked = await validateWorkflow(clean);
  if (checked.definition === undefined) throw new InvalidWorkflow(definition.name, checked.diagnostics);
  return checked.definition;
}

/** A thread with other limits would be a corrupt one. */
function assertLimits(limits: Limits): void {
  for (const [name, value] of Object.entries(limits)) {
    if (value === undefined) continue;
    const known = limitNames.find((one) => one === name);
    const fault = known === undefined ? `is none of ${limitNames.join(', ')}` : faultOfLimit(known, value);
    if (fault === undefined) continue;
    throw new UwfError(`limits.${name} ${fault}`, { code: 'invalid-limits', kind: 'usage', facts: { limit: name } });
  }
}

/** A thread of another definition would be a corrupt one. A program may hand in what nothing has checked. */
async function assertStorable(definition: WorkflowDefinition): Promise<void> {
  await prepareHashing();
  for (const { node } of encodeWorkflow(definition).nodes) await assertValid(node.type, node.payload);
}
