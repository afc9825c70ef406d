import { UwfError } from '../../errors.ts';
import type { Machine } from '../engine-context.ts';
import type { ObjectBatch } from '../../git/stores/publish.ts';
import type { JsonObject } from '../../json.ts';
import { type AgentRecord, BLOCK_PACKAGE } from '../../schema/built-in/workflow.ts';
import { CAS_KEY } from '../../schema/find-links.ts';
import type { PinnedWorkflow } from '../../thread/thread-verbs.ts';
import {
  type BlockDefinition,
  type BranchDefinition,
  END,
  findBlock,
  findRole,
  isIsolated,
  START,
  tasksOf,
  type WorkflowDefinition,
} from '../../workflow/definition.ts';
import { writeWorkflowTree } from '../../workflow/nodes.ts';
import { pinnedName } from '../../workflow/stored-blocks.ts';
import { DEFINITION_KEY } from '../children/sub-workflow.ts';
import { TurnCalls } from '../children/turn-calls.ts';
import { gitPlace, workingPlace } from '../isolation/work-place.ts';
import { allowanceOf } from '../limits/allowance.ts';
import { findLimitReached } from '../limits/limits.ts';
import type { ChosenStep, PreparedTurn } from '../turn/step.ts';

/** A step of a block whose branches can be run. */
export type BlockTurn = PreparedTurn & { block: BlockDefinition };

/**
 * Puts together what the turn of a block needs, as `prepareStep` does for a role.
 * @throws {UwfError} `block-not-poked` `block-without-agent` for what a person can ask of a role only
 */
export async function prepareBlock(step: ChosenStep): Promise<BlockTurn> {
  const { engine, state, definition, choice } = step;
  const block = findBlock(definition, choice.role);
  const role = findRole(definition, choice.role);
  if (block === undefined || role === undefined) throw new Error(`'${choice.role}' is no block`);
  if (choice.again) throw notPoked(choice.role, state.id);
  if (choice.agent !== undefined) throw withoutAgent(choice.role);
  const place = await workingPlace(engine, state, definition, choice.role);
  // Branches with work trees of their own leave the caller's as it is.
  const isolation = isIsolated(block.isolation) ? 'none' : place.isolation;
  const allowance = await allowanceOf(step, choice.role);
  const limitReached = findLimitReached(allowance)?.text;
  if (block.merge !== undefined && limitReached === undefined) {
    // Before the branches are paid for.
    const { requireMergingGit } = await import('../../git/worktree/tree-merger.ts');
    await requireMergingGit(gitPlace(engine));
  }
  if (place.isOwn && !isIsolated(block.isolation) && limitReached === undefined) {
    const { openWorkTree } = await import('../isolation/open-work-tree.ts');
    await openWorkTree(engine, step.lease, state, definition.name);
  }
  const redaction = engine.redaction();
  const prompt = redaction.text(choice.prompt ?? state.prompt);
  const visit = (state.tally.roles.get(choice.role)?.visits ?? 0) + 1;
  return {
    ...step,
    block,
    role,
    isolation,
    record: blockRecord(),
    allowance,
    limitReached,
    request: { role: choice.role, prompt, cwd: place.cwd, visit },
    recorded: prompt,
    calls: new TurnCalls(engine, state, choice.role, state.id),
    redaction,
  };
}

function notPoked(block: string, thread: string): UwfError {
  return new UwfError(`'${block}' is a block; no agent hears what you say`, {
    code: 'block-not-poked',
    kind: 'usage',
    hint: `poke a branch before it has ended, or fork the thread in front of the block: 'uwf thread fork ${thread} --at <step>'`,
  });
}

function withoutAgent(block: string): UwfError {
  return new UwfError(`'${block}' is a block, and is run by no agent`, {
    code: 'block-without-agent',
    kind: 'usage',
    hint: 'name the agents of its roles in the configuration',
  });
}

/** The version of the built-in agents of blocks, which stands in the records of threads. */
const VERSION = '1.0.0';

/** The name of the workflow that a branch runs. A role alone keeps its workflow's name, so that its agent is found by it. */
export function workflowOf({ workflow }: BranchDefinition, { name }: Pick<WorkflowDefinition, 'name'>): string {
  return workflow ?? name;
}

/** The record of what runs a block. It links to the definition of the branches of an `each`. */
export function blockRecord(config: JsonObject = {}): AgentRecord {
  return { name: 'block', package: BLOCK_PACKAGE, version: VERSION, config };
}

/**
 * Adds the definitions of all branches to the batch of a start, with a record for each block and each fixed branch that links to
 * them.
 * @param clean takes secrets out of a definition
 */
export async function pinBlocks(
  engine: Pick<Machine, 'resolveWorkflow'>,
  batch: ObjectBatch,
  caller: WorkflowDefinition,
  clean: (definition: WorkflowDefinition) => Promise<WorkflowDefinition>,
): Promise<{ agents: Record<string, AgentRecord>; children: Record<string, PinnedWorkflow> }> {
  const agents: Record<string, AgentRecord> = {};
  const children: Record<string, PinnedWorkflow> = {};
  const pin = async (name: string, branch: BranchDefinition): Promise<JsonObject> => {
    const definition = await clean(await definitionOfBranch(engine, caller, branch));
    const pinned = writeWorkflowTree(batch, definition);
    children[name] = pinned;
    return { workflow: workflowOf(branch, caller), [DEFINITION_KEY]: { [CAS_KEY]: pinned.hash } };
  };
  for (const [block, definition] of Object.entries(caller.blocks ?? {})) {
    agents[block] = blockRecord();
    for (const [key, task] of tasksOf(definition)) {
      const name = pinnedName(block, key);
      const record = blockRecord(await pin(name, task));
      // The branches of an `each` share the record of their block.
      agents[name] = key === undefined ? record : { ...record, name: 'workflow', package: 'builtin:workflow' };
    }
  }
  return { agents, children };
}

/** The workflow that a branch runs; for a role of the caller's workflow, a workflow of that role alone. */
async function definitionOfBranch(
  engine: Pick<Machine, 'resolveWorkflow'>,
  { name, roles }: WorkflowDefinition,
  branch: BranchDefinition,
): Promise<WorkflowDefinition> {
  if (branch.workflow !== undefined) return engine.resolveWorkflow(branch.workflow);
  const role = roles[branch.role];
  if (role === undefined) throw new Error(`a valid workflow has the roles of its branches, not '${branch.role}'`);
  return {
    name,
    description: role.description,
    roles: { [branch.role]: role },
    moderator: [
      { from: START, to: branch.role, when: null },
      { from: branch.role, to: END, when: null },
    ],
  };
}
