import { readNodeAt } from '../../cas/commit-nodes.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import type { DecisionContext } from '../../moderator/decision.ts';
import { listBranches } from '../../moderator/list-branches.ts';
import { BLOCK_PACKAGE } from '../../schema/built-in/agent.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { contentNode } from '../../thread/draft-commit.ts';
import { readBranchEnd } from '../../thread/step-view.ts';
import type { CommitOf } from '../../thread/thread-state.ts';
import { isIsolated, type BlockDefinition } from '../../workflow/definition.ts';
import type { BranchPlace, CommitPlace } from '../chain/commit-place.ts';
import type { ThreadProgress } from '../chain/progress.ts';
import { isMarked } from '../is-marked.ts';
import { checkJoin } from './check-join.ts';
import { checkMerge, type EndedBranch } from './check-merge.ts';
import { isToldEnd } from './is-told-end.ts';

/** What the step of a block is checked against. */
export type BlockBasis = {
  repository: Repository;
  /** The thread up to the step, and what its rules see of it. */
  before: ThreadProgress;
  context: DecisionContext;
  /** The further parents of the step that are commits of threads. */
  threads: ReadonlyMap<ObjectId, CommitPlace>;
  /** Is called after each evaluation, and throws when the time for the workflow is up. */
  passed: () => void;
};

/** The meta of a block's step. */
export type BlockMeta = { status: string; order: readonly string[]; branches: JsonObject };

/** A branch by the step of its block, with the commit of its end. */
type Taken = { key: string; end: ObjectId; place: CommitPlace };

/**
 * Checks the step of a block: the branches that it took in are branches of the block, as its definition lists them at this
 * point of the thread; each had the prompt of the definition; the meta agrees with the ends, in the order of the parents; and
 * the join was open before the last of them, and gives the status after it. Behind these are the branches that it was decided without.
 *
 * Reads each end once. The children themselves, and what their starts say of the caller, are checked with their own commits.
 * @returns what is wrong, a sentence each
 * @throws {BlockFailed} if its branches cannot be listed, or its join cannot be judged
 */
export async function checkBlock(step: CommitOf<'step'>, block: BlockDefinition, basis: BlockBasis): Promise<string[]> {
  const { role, childThreads } = step.node;
  const { repository, context, before, passed } = basis;
  const meta = readBlockMeta(step.node.meta);
  if (meta === undefined) return ['its meta is not that of a block'];
  const { order, branches } = meta;
  const keys = new Set(order);
  if (keys.size < order.length) return ["a key is in 'order' twice"];
  if (order.length > childThreads.length) {
    return [`'order' has ${order.length} keys, and it took in ${childThreads.length} child threads`];
  }
  const told =
    Object.keys(branches).find((key) => !keys.has(key)) ?? order.find((key) => !Object.hasOwn(branches, key));
  if (told !== undefined) return [`its meta has '${told}' in one of 'order' and 'branches' only`];
  const listed = await listBranches(role, block, context, '', passed);
  const prompts = new Map(listed.map(({ key, prompt }) => [key, prompt]));
  const taken = takenBranches(step, order, basis);
  if (typeof taken === 'string') return [taken];
  const unknown = taken.find(({ key }) => !prompts.has(key));
  if (unknown !== undefined) return [`it took in '${unknown.key}', which is no branch of its block`];
  const twice = taken.slice(order.length).find(({ key }) => keys.has(key));
  if (twice !== undefined) return [`it took in the branch '${twice.key}' twice`];
  const faults = await checkCalls(step, block, prompts, taken, basis);
  const ended: EndedBranch[] = [];
  for (const { key, end } of taken.slice(0, order.length)) {
    const is = await readBranchEnd(repository, end, listed.length);
    if (!(await isToldEnd(repository, end, branches[key], is)))
      faults.push(`what it says of branch '${key}' is not how that ended`);
    ended.push({ key, commit: end, ...is });
  }
  const joined = await checkJoin(role, block, ended, listed.length, meta.status, passed);
  if (joined.fault !== undefined) return [...faults, joined.fault];
  const { isJoined } = joined;
  return [...faults, ...(await checkMerge(repository, step, block, { isJoined, ended, before }))];
}

function readBlockMeta({ $status: status, order, branches }: JsonObject): BlockMeta | undefined {
  if (typeof status !== 'string' || !Array.isArray(order) || !isJsonObject(branches)) return undefined;
  const keys = order.filter((key) => typeof key === 'string');
  return keys.length === order.length ? { status, order: keys, branches } : undefined;
}

/**
 * Pairs the keys with the parents: those of the branches that its join counts, then those that it was decided without.
 * @returns a fault where a parent is not the end that the node names in its place
 */
function takenBranches(
  { commit: { parents }, node: { childThreads } }: CommitOf<'step'>,
  order: readonly string[],
  { threads }: BlockBasis,
): Taken[] | string {
  const taken: Taken[] = [];
  for (const [at, hash] of childThreads.entries()) {
    const end = parents[at + 1];
    const place = end && threads.get(end);
    const key = order[at] ?? place?.start.branch?.key;
    if (end === undefined || place === undefined || place.hash !== hash || key === undefined) {
      return `the end of branch '${key ?? hash}', ${hash}, is not its parent ${at + 2}`;
    }
    taken.push({ key, end, place });
  }
  return taken;
}

/** Checks that each child was called as the branch that the step takes it for. */
async function checkCalls(
  { node }: CommitOf<'step'>,
  block: BlockDefinition,
  prompts: ReadonlyMap<string, string>,
  taken: readonly Taken[],
  { repository, before }: BlockBasis,
): Promise<string[]> {
  const faults: string[] = [];
  const base = isIsolated(block.isolation) ? { wanted: await before.readBase(repository) } : undefined;
  const caller = taken[0]?.place.start.branch?.thread;
  for (const { key, place } of taken) {
    const { branch } = place.start;
    if (branch?.key !== key) {
      const called = branch === undefined ? 'no branch' : `the branch '${branch.key}'`;
      faults.push(`the child thread that it took in as '${key}' is ${called}`);
      continue;
    }
    if (branch.thread !== caller) faults.push(`'${key}' was called under ${branch.thread}, others under ${caller}`);
    const task = block.each ?? block.branches?.[key];
    const wanted = task?.prompt === undefined ? node.prompt : (prompts.get(key) ?? '');
    const isTold =
      task?.prompt === undefined ? branch.prompt?.hash === wanted : await isPrompt(repository, branch, wanted);
    if (!isTold) faults.push(`'${key}' was told something else than its block says`);
    if (base && !isBase(base.wanted, branch.base)) {
      faults.push(`the base of '${key}' is ${branch.base ?? 'missing'}, by the steps before it is ${base.wanted}`);
    }
  }
  return faults;
}

/** Tells whether a branch had a prompt, except for secrets that were redacted in it. */
async function isPrompt(repository: Repository, { prompt }: BranchPlace, wanted: string): Promise<boolean> {
  if (prompt === undefined) return false;
  if (prompt.hash === contentNode(wanted).hash) return true;
  return isMarked(wanted, payloadOf(await readNodeAt(repository, prompt), 'content').text);
}

/** @param wanted absent where the caller has no base: then what was checked out counts, which nothing records */
function isBase(wanted: ObjectId | undefined, is: ObjectId | undefined): boolean {
  return wanted === undefined ? is !== undefined : is === wanted;
}

/** Finds fields of an agent's turn in the step of a block, which has none. */
export function checkBlockTurn(
  { role, usage, attempts, react }: Pick<CommitOf<'step'>['node'], 'role' | 'usage' | 'attempts' | 'react'>,
  agent: { package: string } | undefined,
): string[] {
  const faults: string[] = [];
  if (agent !== undefined && agent.package !== BLOCK_PACKAGE) {
    faults.push(`its agent is ${agent.package}; '${role}' is a block, which ${BLOCK_PACKAGE} runs`);
  }
  if (usage !== null || attempts.length > 0 || react !== null) {
    faults.push(`it has usage, attempts or a trace; '${role}' is a block, which has none`);
  }
  return faults;
}
