import { didYouMean } from '../../text/nearest-name.ts';
import { canonicalJson } from '../../cas/canonical.ts';
import { JSONATA_FUNCTIONS } from '../../expression/analysis/syntax-tree.ts';
import { isIsolated } from '../definition.ts';
import type { Report } from '../diagnostics/report.ts';
import { checkRoleName } from './check-names.ts';
import { blockSchema, branchesOf, type SourceBlock, type Reduction } from '../notation/reduce-workflow.ts';
import { pinnedName } from '../nodes/stored-blocks.ts';

/** Names that the item of an `each` must not have: those of other variables, and words of JSONata and Liquid. */
const TAKEN: ReadonlySet<string> = new Set(
  `steps start threadId branches key _body and or in true false null function nil empty blank contains`.split(/\s+/),
);

/** Checks the fields of blocks: names, isolation, merge and join. */
export function checkBlocks(report: Report, reduction: Reduction): void {
  for (const block of reduction.blocks) {
    checkRoleName(report, block, 'a block');
    for (const { key: name, path } of branchesOf(block)) {
      if (name !== undefined) checkRoleName(report, { name, path }, 'a branch');
    }
    checkItemName(report, block);
    checkIsolation(report, block);
    checkMerge(report, block, reduction);
    checkJoin(report, block);
    checkSchema(report, block);
  }
}

/** Checks that the roles exist that branches run, as the engine needs it. */
export function checkRolesOfBranches(report: Report, { blocks, roles }: Reduction): void {
  const known = roles.map(({ name }) => name);
  for (const block of blocks) {
    for (const { branch, title, path } of branchesOf(block)) {
      const { role } = branch;
      if (role === undefined || known.includes(role) || known.length === 0) continue;
      const isBlock = blocks.some(({ name }) => name === role);
      const hint = isBlock ? 'a branch runs a role or a workflow; a workflow may have blocks' : didYouMean(role, known);
      const what = isBlock ? 'is a block' : 'is no role';
      report.error('unknown-role', [...path, 'role'], `${title} runs '${role}', which ${what}`, { hint });
    }
  }
}

function checkItemName(report: Report, { name, block, path }: SourceBlock): void {
  const as = block.each?.as;
  if (as === undefined) return;
  const place = [...path, 'each', 'as'];
  if (TAKEN.has(as) || JSONATA_FUNCTIONS.has(as)) {
    const hint = JSONATA_FUNCTIONS.has(as) ? `$${as} is a function of JSONata` : `'${as}' has a meaning of its own`;
    report.error('reserved-name', place, `'${as}' is reserved and cannot name the item of block '${name}'`, { hint });
  }
}

/** Several branches that change files in one place undo each other's work. */
function checkIsolation(report: Report, { name, block, path }: SourceBlock): void {
  const isOne = block.branches !== undefined && Object.keys(block.branches).length === 1;
  if (block.isolation !== undefined || isOne) return;
  const message = `block '${name}' runs several branches and does not say where they work`;
  const hint =
    "add 'isolation: worktree' (a work tree for each branch), 'shared' (one for all) or 'none' (the main one)";
  report.error('missing-isolation', path, message, { hint, at: 'key' });
}

function checkMerge(report: Report, { name, block, path }: SourceBlock, { definition }: Reduction): void {
  if (block.merge === undefined) return;
  const place = [...path, 'merge'];
  if (!isIsolated(block.isolation)) {
    const message = `block '${name}' merges, but its branches have no work trees of their own`;
    const hint = "add 'isolation: worktree' to the block, or remove 'merge'";
    report.error('merge-without-isolation', place, message, { hint, at: 'key' });
  }
  if (!isIsolated(definition.isolation)) {
    const message = `block '${name}' merges, but the workflow has no work tree of its own to merge into`;
    const hint = "add 'isolation: worktree' to the workflow";
    report.error('merge-without-isolation', place, message, { hint, at: 'key' });
  }
}

function checkJoin(report: Report, { name, block: { join, branches }, path }: SourceBlock): void {
  if (typeof join === 'string' || branches === undefined) return;
  const count = Object.keys(branches).length;
  if (join.atLeast <= count) return;
  const message = `block '${name}' waits for ${join.atLeast} branches, and it has ${count}`;
  report.error('join-never-holds', [...path, 'join', 'atLeast'], message, { hint: `write at most ${count}` });
}

/** Checks that a block's schema, if there is one, is the one that uwf makes: a definition from nodes has it. */
function checkSchema(report: Report, { name, block, path }: SourceBlock): void {
  if (canonicalJson(block.schema) === canonicalJson(blockSchema(block))) return;
  const message = `block '${name}' has a schema, and uwf makes the schema of what a block reports`;
  report.error('block-schema', [...path, 'schema'], message, { hint: 'remove it', at: 'key' });
}

/**
 * Checks that no two definitions are stored under one name. The start of a thread has an agent for each role, each block
 * (`<block>`) and each fixed branch (`<block>.<key>`).
 */
export function checkStoredNames(report: Report, { blocks, roles }: Reduction): void {
  const owners = new Map(roles.map(({ name, title }) => [name, title]));
  for (const block of blocks) {
    const branches = branchesOf(block).filter(({ key }) => key !== undefined);
    const own = [
      { name: block.name, title: `block '${block.name}'`, path: block.path },
      ...branches.map(({ key, title, path }) => ({ name: pinnedName(block.name, key), title, path })),
    ];
    for (const { name, title, path } of own) {
      const owner = owners.get(name);
      owners.set(name, owner ?? title);
      if (owner === undefined) continue;
      const message = `${title} is stored as '${name}', as is ${owner}`;
      report.error('name-taken', path, message, { hint: 'rename one of them', at: 'key' });
    }
  }
}
