import type { Commit } from '../../git/format/commit.ts';
import { alone, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { setMember } from '../../json.ts';
import { countedLimits, type MoreLimits } from '../../schema/built-in/limits.ts';
import { SKIPS, type RoleTotals, type Totals } from '../../schema/built-in/totals.ts';
import type { ThreadEnd } from '../../schema/built-in/thread-end.ts';
import type { ThreadStep } from '../../schema/built-in/thread-step.ts';
import { addUsage, type Usage, type UsageByRole } from '../../schema/built-in/usage.ts';
import type { ThreadCommit, ThreadEvent } from '../thread-commit.ts';
import { readReplaced } from './replaced-steps.ts';

/** {@link Totals} in memory. A value: it does not change when the thread advances. */
export type Tally = Readonly<Omit<Totals, 'roles' | 'skips'>> & {
  roles: ReadonlyMap<string, Readonly<RoleTotals>>;
  skips: readonly ObjectId[];
};

/** What the totals count of a commit. */
export type CountedCommit = ThreadEvent & { id: ObjectId; commit: Pick<Commit, 'parents'> };

/** The totals as the node of the next commit has them. */
export function totalsOf({ roles, ...tally }: Tally): Totals {
  const byRole: Totals['roles'] = {};
  for (const [role, totals] of roles) setMember(byRole, role, totals);
  return { ...tally, roles: byRole, skips: [...tally.skips] };
}

/** The tally of all commits before one, as its node has it; `undefined` for a start. */
export function tallyBefore(commit: ThreadEvent): Tally | undefined {
  if (commit.kind === 'start') return undefined;
  const { roles, ...totals } = commit.node.totals;
  return { ...totals, roles: new Map(Object.entries(roles)) };
}

/** How many steps there are up to a commit. */
export function stepsUpTo(commit: ThreadEvent): number {
  if (commit.kind === 'start') return 0;
  return commit.node.totals.steps + (commit.kind === 'step' ? 1 : 0);
}

/**
 * The tally of all commits up to one.
 * @param before that of the commits before it; `undefined` for a start
 */
export async function addToTally(
  repository: Repository,
  before: Tally | undefined,
  commit: ThreadCommit,
): Promise<Tally> {
  return tallyAfter(before, commit, commit.kind === 'step' ? await readReplaced(repository, commit) : []);
}

/** The same, where the steps that the commit replaces are known. */
export function tallyAfter(
  before: Tally | undefined,
  commit: CountedCommit,
  replaced: readonly { node: ThreadStep }[] = [],
): Tally {
  const id = alone(commit.id);
  if (before === undefined || commit.kind === 'start') return tallyOfStart(id);
  switch (commit.kind) {
    case 'end':
      return withChildren(before, [commit.node]);
    case 'resume': {
      const more = sumOf(before.more, commit.node.more ?? {});
      // It stands on the last step, and has the end as a further parent.
      const isReopening = commit.commit.parents.length > 1;
      return { ...before, more, ...(isReopening && { reopened: { commit: id, number: before.steps } }) };
    }
    case 'suspend': {
      const { role, usage } = commit.node;
      const own = before.roles.get(role) ?? NO_TURN;
      const waited = { ...own, waits: own.waits + 1, usage: addUsage(own.usage, usage) };
      return { ...before, roles: new Map(before.roles).set(role, waited), usage: addUsage(before.usage, usage) };
    }
    case 'step': {
      const { role, usage, workspace, compact } = commit.node;
      const number = before.steps + 1;
      const own = before.roles.get(role) ?? NO_TURN;
      const again = replaced.reduce<Usage | null>((sum, { node }) => addUsage(sum, node.usage), null);
      const visited: RoleTotals = {
        ...own,
        visits: own.visits + 1,
        first: own.first ?? number,
        last: number,
        usage: addUsage(own.usage, usage),
        replaced: addUsage(own.replaced, again),
        waits: 0,
      };
      const advanced = {
        ...before,
        steps: number,
        roles: new Map(before.roles).set(role, visited),
        usage: addUsage(before.usage, usage),
        replaced: addUsage(before.replaced, again),
        ...(workspace !== undefined && { recorded: id }),
        ...(compact !== null && { compacted: { commit: id, number } }),
        ...([commit.node, ...replaced.map(({ node }) => node)].some(isCalling) && { calling: id }),
        skips: SKIPS.flatMap((distance, at) => (number % distance === 0 ? id : (before.skips[at] ?? []))),
      };
      return withChildren(advanced, [commit.node, ...replaced.map(({ node }) => node)]);
    }
  }
}

/** Adds what the children have used of steps, those that they replaced included, or of an end. */
function withChildren(before: Tally, nodes: readonly CallingNode[]): Tally {
  let { children } = before;
  const roles = new Map(before.roles);
  for (const node of nodes) {
    for (const [role, used] of childUsageOf(node)) {
      const own = roles.get(role) ?? NO_TURN;
      roles.set(role, { ...own, children: addUsage(own.children, used) });
      children = addUsage(children, used);
    }
  }
  return { ...before, children, roles };
}

/** The tally of a thread that leaves children. */
export function withLeft(tally: Tally, leftUsage: UsageByRole = {}): Tally {
  return withChildren(tally, [{ leftUsage }]);
}

/** Tells whether a step has called child threads, as far as it says. */
function isCalling({ childThreads, leftUsage }: Pick<ThreadStep, 'childThreads' | 'leftUsage'>): boolean {
  return childThreads.length > 0 || leftUsage !== undefined;
}

/** A node that says what children have used. */
type CallingNode = { leftUsage?: UsageByRole | undefined } & Partial<Pick<ThreadStep, 'role' | 'childUsage'>>;

/** What the children have used that a step took in or left, or an end cut off, by the roles that called them. */
export function childUsageOf({ role, childUsage, leftUsage = {} }: CallingNode): [role: string, used: Usage][] {
  // Roles with numbers for names would come first.
  const left = Object.entries(leftUsage).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return role === undefined || childUsage === undefined ? left : [[role, childUsage], ...left];
}

/** All that a thread has used up to a commit: its steps, those that they replaced, and all that it called. */
export function usageInAll({
  usage,
  replaced,
  children,
}: Pick<Totals, 'usage' | 'replaced' | 'children'>): Usage | null {
  return addUsage(addUsage(usage, replaced), children);
}

/** The same of a thread that has ended. */
export function usageOfEnded({ totals, leftUsage }: Pick<ThreadEnd, 'totals' | 'leftUsage'>): Usage | null {
  return childUsageOf({ leftUsage }).reduce((sum, [, used]) => addUsage(sum, used), usageInAll(totals));
}

/** The totals of a role that has had no turn. */
export const NO_TURN: Readonly<RoleTotals> = {
  visits: 0,
  first: null,
  last: null,
  usage: null,
  replaced: null,
  children: null,
  waits: 0,
};

/** The tally of a start. */
export function tallyOfStart(start: ObjectId): Tally {
  return {
    start,
    steps: 0,
    usage: null,
    replaced: null,
    children: null,
    roles: new Map(),
    more: {},
    recorded: null,
    compacted: null,
    calling: null,
    reopened: null,
    skips: [],
  };
}

/** Adds up what people have added to limits. */
export function sumOf(...added: readonly MoreLimits[]): MoreLimits {
  const sum: MoreLimits = {};
  for (const name of countedLimits) {
    const amount = added.reduce((total, more) => total + (more[name] ?? 0), 0);
    if (amount > 0) sum[name] = amount;
  }
  return sum;
}
