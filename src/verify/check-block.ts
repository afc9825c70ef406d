import { isDeepStrictEqual } from 'node:util';
import { readNodeAt } from '../cas/commit-nodes.ts';
import type { StoredNode } from '../cas/node.ts';
import { pathName } from '../cas/path-name.ts';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { GitEnvironment, Repository } from '../git/repository.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import type { DecisionContext } from '../moderator/decide.ts';
import {
  isCompleted,
  type JoinVerdict,
  judgeCounts,
  judgeJoin,
  listBranches,
  type TakenBranch,
} from '../moderator/branches.ts';
import { marks } from '../redaction/redactor.ts';
import { builtIn, payloadOf } from '../schema/built-in.ts';
import { BLOCK_PACKAGE, type Workflow } from '../schema/built-in/workflow.ts';
import type { MergeRecord } from '../schema/built-in/thread-step.ts';
import { contentNode } from '../thread/draft-commit.ts';
import { type BranchEnd, findFilesToMerge, readBranchEnd } from '../thread/step-view.ts';
import { readTextAt, readThreadCommit } from '../thread/thread-commit.ts';
import type { CommitOf } from '../thread/thread-state.ts';
import { type BlockDefinition, CONFLICT, isExpression, isIsolated } from '../workflow/definition.ts';
import { linkedSchema, pinnedName } from '../workflow/stored-blocks.ts';
import type { ReportFault } from './find-chain.ts';
import type { BranchPlace, CommitPlace, ThreadProgress } from './thread-progress.ts';

const WORKFLOW = 'workflow/workflow.json';

/**
 * Checks that a start has what its workflow's blocks need: the schema of each block's meta, a record of each block, and the
 * definition of each branch. The definition of a branch that is a role has that role of the workflow, and no other.
 * @param nodes the nodes of the start's tree that could be read, by path
 */
export function checkPins(nodes: ReadonlyMap<string, StoredNode>, report: ReportFault): void {
  const workflow = findWorkflow(nodes, WORKFLOW);
  for (const [name, block] of Object.entries(workflow?.blocks ?? {})) {
    const schema = nodes.get(`workflow/schemas/${pathName(name)}.json`);
    if (linkedSchema(block) === undefined) report(WORKFLOW, `block '${name}' has no schema`);
    else if (schema && schema.type !== builtIn['role-schema'])
      report(WORKFLOW, `the schema of block '${name}' is none of a role`);
    const record = nodes.get(`agents/${pathName(name)}.json`);
    if (record === undefined) report('start.json', `no agent is recorded for block '${name}'`);
    else if (payloadOf(record, 'agent').package !== BLOCK_PACKAGE) {
      report(`agents/${pathName(name)}.json`, `'${name}' is a block, which ${BLOCK_PACKAGE} runs`);
    }
    for (const [key, branch] of branchesOf(block)) {
      const folder = `children/${pathName(pinnedName(name, key))}`;
      const pinned = findWorkflow(nodes, `${folder}/workflow.json`);
      const what = key === undefined ? `the branches of block '${name}'` : `branch '${key}' of block '${name}'`;
      if (pinned === undefined)
        report(folder, `it has no definition, which ${what} ${key === undefined ? 'need' : 'needs'}`);
      else if (workflow && !isOfRole(workflow, pinned, branch)) report(folder, `it is not what ${what} is to run`);
    }
  }
}

function findWorkflow(nodes: ReadonlyMap<string, StoredNode>, path: string): Workflow | undefined {
  const node = nodes.get(path);
  return node && node.type === builtIn.workflow ? payloadOf(node, 'workflow') : undefined;
}

/** The fixed branches of a block by their keys, or what all branches of an `each` run. */
function branchesOf({ branches, each }: JsonObject): [key: string | undefined, branch: JsonValue][] {
  return isJsonObject(branches) ? Object.entries(branches) : each === undefined ? [] : [[undefined, each]];
}

/** Tells whether a pinned workflow is the one of a branch: of its name, or of its role alone. */
function isOfRole(caller: Workflow, pinned: Workflow, branch: JsonValue): boolean {
  const { role, workflow } = isJsonObject(branch) ? branch : {};
  if (typeof role !== 'string') return pinned.name === workflow;
  const { [role]: own, ...others } = pinned.roles;
  return pinned.name === caller.name && own === caller.roles[role] && Object.keys(others).length === 0;
}

/**
 * Checks what the start of a branch says of its block: the caller's workflow has the block, and the branch runs what the
 * caller's start pins for it. Does nothing for a start of another kind.
 */
export async function checkBranch(
  repository: Repository,
  { node }: CommitOf<'start'>,
  caller: CommitPlace | undefined,
  report: ReportFault,
): Promise<void> {
  const { call, parentRole, workflow } = node;
  if (call?.block === undefined || caller?.start.workflow === undefined) return;
  const say = (what: string): void => report('start.json', what);
  const { block, key, ordinal } = call;
  const { blocks = {} } = payloadOf(await readNodeAt(repository, caller.start.workflow), 'workflow');
  const stored = Object.hasOwn(blocks, block) ? blocks[block] : undefined;
  if (stored === undefined)
    return say(`it is a branch of '${block}', and the workflow of its caller has no such block`);
  if (parentRole !== block) say(`it is a branch of '${block}', and parentRole is '${parentRole}'`);
  if (ordinal !== undefined) say('a branch has a key of its own, and no ordinal');
  const { branches } = stored;
  const isFixed = isJsonObject(branches);
  if (isFixed && !Object.hasOwn(branches, key)) return say(`block '${block}' has no branch '${key}'`);
  const wanted = caller.start.pinned?.get(pathName(pinnedName(block, isFixed ? key : undefined)));
  if (workflow !== wanted) {
    say(
      `its workflow is ${workflow}; the start of its caller pins ${wanted ?? 'none'} for branch '${key}' of '${block}'`,
    );
  }
}

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

type BlockMeta = { status: string; order: readonly string[]; branches: JsonObject };

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

/**
 * Tells whether the step of a block records the end of a branch correctly.
 *
 * A redaction changes the lengths by which a summary is cut and a meta is left out. If the end or its record has marks of a
 * redaction, the summary may end at another place, and the meta may be there or not.
 * @param end the commit of the end
 * @param is how the branch ended, by {@link readBranchEnd}
 */
async function isToldEnd(
  repository: Repository,
  end: ObjectId,
  told: JsonValue | undefined,
  is: BranchEnd,
): Promise<boolean> {
  if (isDeepStrictEqual(told, is)) return true;
  if (!isJsonObject(told) || !isJsonObject(told['end'])) return false;
  const commit = await readThreadCommit(repository, end);
  const whole = await readBranchEnd(repository, end, 1);
  const text = await readTextAt(repository, commit, 'summary.md');
  if (!hasMarks(told) && !hasMarks({ ...whole, text })) return false;
  const { summary } = told['end'];
  if (typeof summary !== 'string' || !text.startsWith(summary)) return false;
  const meta = told['meta'] === null ? null : whole.meta;
  return isDeepStrictEqual(told, { ...whole, meta, end: { ...whole.end, summary } });
}

function hasMarks(value: JsonValue): boolean {
  return JSON.stringify(value).search(marks) !== -1;
}

/** How a join was decided: whether its branches joined, or what is wrong. */
type CheckedJoin = { fault: string } | { fault: undefined; isJoined: boolean };

/**
 * Judges a join over each beginning of the branches that were taken in, also the empty one: it has to be open until the
 * last, and then to give the status.
 *
 * One pass where numbers decide. An expression is evaluated once for each beginning.
 */
async function checkJoin(
  name: string,
  block: Pick<BlockDefinition, 'join' | 'onFailure' | 'merge'>,
  taken: readonly TakenBranch[],
  total: number,
  status: string,
  passed: () => void,
): Promise<CheckedJoin> {
  let completed = 0;
  for (let count = 0; count <= taken.length; count += 1) {
    const newest = taken[count - 1];
    if (newest && isCompleted(newest)) completed += 1;
    let verdict: JoinVerdict;
    if (isExpression(block.join)) {
      verdict = await judgeJoin(name, block, taken.slice(0, count), total);
      passed();
    } else verdict = judgeCounts(block, { completed, taken: count, total });
    if (verdict.kind === 'open') continue;
    if (count < taken.length)
      return { fault: `its join was decided by the first ${count} of ${taken.length} branches` };
    const { isJoined } = verdict;
    const mayConflict = isJoined && block.merge !== undefined && status === CONFLICT;
    if (verdict.status === status || mayConflict) return { fault: undefined, isJoined };
    return { fault: `its status is '${status}'; by its join it is '${verdict.status}'` };
  }
  return { fault: `its join is not decided by the ${taken.length} of ${total} branches that it took in` };
}

type EndedBranch = TakenBranch & { commit: ObjectId };

/**
 * Checks what the step of a block says of the merge of its branches' files: that there is one if the branches joined and the
 * block merges, from which commits, and in which order. Does not repeat it: see `repeatRecordedMerge`.
 * @returns what is wrong, a sentence each
 */
export async function checkMerge(
  repository: Repository,
  { node: { meta, merge, workspace } }: CommitOf<'step'>,
  block: Pick<BlockDefinition, 'merge'>,
  { isJoined, ended, before }: { isJoined: boolean; ended: readonly EndedBranch[]; before: ThreadProgress },
): Promise<string[]> {
  const isMerged = block.merge !== undefined && isJoined;
  const { $status: status, conflicts } = meta;
  if (merge === undefined) {
    const faults = isMerged ? ['its branches joined, and it says nothing of the merge of their files'] : [];
    return conflicts === undefined ? faults : [...faults, "it has 'conflicts', and no merge"];
  }
  if (!isMerged) return ['it says that files were merged, which its block does not do'];
  const faults: string[] = [];
  if (workspace === undefined) faults.push('it does not have the files that it says were merged');
  if ((status === CONFLICT) !== (Array.isArray(conflicts) && conflicts.length > 0)) {
    faults.push(`its status is not '${CONFLICT}' exactly where it has conflicts`);
  }
  const base = await before.readBase(repository);
  if (merge.base !== base) faults.push(`it was merged into ${merge.base}; its branches began at ${base}`);
  const completed = ended.filter(isCompleted).map(({ key, commit }) => ({ key, end: commit }));
  const wanted = await findFilesToMerge(repository, block.merge?.order, completed);
  if (textOf(merge.branches) !== textOf(wanted)) {
    faults.push(
      'the commits that it says were merged are not the newest files of its completed branches in their order',
    );
  }
  return faults;
}

function textOf(branches: MergeRecord['branches']): string {
  return JSON.stringify(branches.map(({ key, commit }) => [key, commit]));
}

/** The result of repeating a merge: a fault, or why it could not be repeated. Neither: it is as recorded. */
type RepeatedMerge = { fault?: string; unchecked?: string };

/** A merge that takes longer is not compared. */
const MAX_MERGE_MS = 60_000;

/**
 * Merges again what the step of a block says was merged by git alone, and compares the tree and the conflicts.
 *
 * Not comparable is a merge in which a driver of a machine had a part; one that another version of git makes otherwise; one
 * whose step secrets were taken out of since, if it differs; and any if this machine's git cannot merge so.
 * @param step a step with a merge; its record was checked
 */
export async function repeatMergeOf(
  repository: Repository,
  env: GitEnvironment,
  { node: { merge, meta, workspace, redacted } }: CommitOf<'step'>,
): Promise<RepeatedMerge> {
  if (merge === undefined || workspace === undefined) return {};
  if (!merge.isRepeatable) return { unchecked: 'a merge driver of the machine had a part in it' };
  const signal = AbortSignal.timeout(MAX_MERGE_MS);
  const { repeatMerge } = await import('../git/worktree/merge-trees.ts');
  const { base, branches } = merge;
  try {
    const again = await repeatMerge({ repository, env, signal }, base, base, branches);
    const conflicts = again.conflicts.map(({ path, kind, keys }) => ({ path, kind, keys: [...keys] }));
    const isSame = again.tree === workspace.tree && isDeepStrictEqual(conflicts, meta['conflicts'] ?? []);
    if (isSame) return {};
    if (again.gitVersion !== merge.git) {
      return { unchecked: `git ${merge.git} made it, and git ${again.gitVersion} merges otherwise` };
    }
    if (redacted !== undefined) return { unchecked: 'secrets were taken out of its files' };
    return again.tree === workspace.tree
      ? { fault: 'its conflicts are not those that git gives for its merge' }
      : { fault: `its files are ${workspace.tree}; merged again they are ${again.tree}` };
  } catch (error) {
    if (signal.aborted) return { unchecked: `it takes more than ${MAX_MERGE_MS / 1000} s` };
    if (error instanceof UwfError && error.kind !== 'data') return { unchecked: error.message };
    throw error;
  }
}

/** Tells whether something was redacted in a text. */
export function hasMark(text: string): boolean {
  return text.search(marks) !== -1;
}

/** Tells whether a text is another one in which parts were replaced by marks. */
export function isMarked(before: string, after: string): boolean {
  // Every second part is the name of a mark's rule.
  const [first = '', ...rest] = after.split(marks).filter((_, at) => at % 2 === 0);
  const last = rest.pop();
  if (last === undefined) return before === after;
  let at = first.length;
  if (!before.startsWith(first)) return false;
  for (const part of rest) {
    const next = before.indexOf(part, at);
    if (next === -1) return false;
    at = next + part.length;
  }
  return before.length >= at + last.length && before.endsWith(last);
}
