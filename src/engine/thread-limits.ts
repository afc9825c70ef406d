import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { countedLimits, type CountedLimit, type MoreLimits } from '../schema/built-in/thread-resume.ts';
import { UwfError } from '../errors.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { CommitOf, ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { EngineContext } from './context.ts';
import { definitionOf } from './definition-of.ts';
import { limitOptions } from './limit-options.ts';
import { combineLimits, findLimitReached, type Allowance, type CountedTurn, type LimitReached } from './limits.ts';

/**
 * Puts together what limits a role's turn, and what the thread has used of it over its life: its steps, its turns that
 * ended in a suspension, and the steps that were done again.
 * @param replaced the step that the turn does again, where it does one
 * @param more what is about to be added, beside what the thread's resumptions have added
 */
export async function allowanceOf(
  context: EngineContext,
  state: ThreadState,
  definition: WorkflowDefinition,
  role: string,
  { replaced, more = {} }: { replaced?: CommitOf<'step'> | undefined; more?: MoreLimits } = {},
): Promise<Allowance> {
  const turns: CountedTurn[] = [];
  const added = [more];
  for (const commit of [...state.chain, ...(replaced ? [replaced] : [])]) {
    if (commit.kind === 'resume') added.push(commit.node.more ?? {});
    else if (commit.kind === 'suspend') turns.push({ ...commit.node, isStep: false });
    else if (commit.kind === 'step') {
      turns.push({ ...commit.node, isStep: commit !== replaced });
      for (const { node } of await replacedBy(context.repository, commit)) turns.push({ ...node, isStep: false });
    }
  }
  return {
    role,
    ofThread: combineLimits(context.config.limits, definition.limits, state.start.node.limits),
    ofRole: definition.roles[role]?.limits ?? {},
    more: sumOf(added),
    turns,
  };
}

/**
 * Finds the limit at which a thread waits; `undefined` where it waits for something else, or the limit was raised since.
 * @param more what is about to be added
 */
export async function findLimitWaitedAt(
  context: EngineContext,
  state: ThreadState,
  more: MoreLimits = {},
): Promise<LimitReached | undefined> {
  const { head } = state;
  if (head.kind !== 'suspend' || head.node.cause !== 'limit') return undefined;
  const definition = await definitionOf(context, state);
  return findLimitReached(await allowanceOf(context, state, definition, head.node.role, { more }));
}

/** The steps that a step has taken the place of, one after another. */
async function replacedBy(repository: Repository, step: CommitOf<'step'>): Promise<CommitOf<'step'>[]> {
  const replaced: CommitOf<'step'>[] = [];
  for (let last = step; last.node.replaces !== undefined;) {
    const { replaces } = last.node;
    const parents = await Promise.all(last.commit.parents.slice(1).map((id) => findStep(repository, id)));
    const before = parents.find((parent) => parent?.hash === replaces);
    // Left out by a light clone, or damaged, which verification names.
    if (before === undefined) break;
    replaced.push(before);
    last = before;
  }
  return replaced;
}

/** A parent that is a step; pinned commits and those of the user's code are none. */
async function findStep(repository: Repository, id: ObjectId): Promise<CommitOf<'step'> | undefined> {
  try {
    const commit = await readThreadCommit(repository, id);
    return commit.kind === 'step' ? commit : undefined;
  } catch (error) {
    if (error instanceof UwfError && error.kind === 'data') return undefined;
    throw error;
  }
}

function sumOf(added: readonly MoreLimits[]): MoreLimits {
  const sum: MoreLimits = {};
  for (const name of countedLimits) {
    const amount = added.reduce((total, more) => total + (more[name] ?? 0), 0);
    if (amount > 0) sum[name] = amount;
  }
  return sum;
}

/** A thread waits at a limit, which only a person's word raises. */
export class WaitsAtLimit extends UwfError {
  readonly thread: ThreadId;
  readonly limit: CountedLimit;
  readonly used: number;
  constructor(thread: ThreadId, { name, used, missing, text }: LimitReached) {
    const option = limitOptions.find(([limit]) => limit === name)?.[1] ?? name;
    super(`thread ${thread} waits at a limit: ${text} (${used} used)`, {
      code: 'waits-at-limit',
      kind: 'usage',
      hint: `run 'uwf thread resume ${thread} --${option} ${missing}' to let it use ${missing} more`,
    });
    this.thread = thread;
    this.limit = name;
    this.used = used;
  }
}
