import { UwfError } from '../../errors.ts';
import { isIsolated, findBlock, findRole, type BlockDefinition } from '../../workflow/definition.ts';
import { TurnCalls } from '../children/turn-calls.ts';
import { gitPlace } from '../isolation/work-tree-folder.ts';
import { workingPlace } from '../isolation/working-top.ts';
import { allowanceOf } from '../limits/allowance.ts';
import { findLimitReached } from '../limits/limits.ts';
import type { ChosenStep, PreparedTurn } from '../turn/step.ts';
import { blockRecord } from './pin-blocks.ts';

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
