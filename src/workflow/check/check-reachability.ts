import { END, RESUME, START } from '../definition.ts';
import { listNames, nearestName } from '../../text/nearest-name.ts';
import type { Report } from '../diagnostics/report.ts';
import { type SourceRule, branchesOf, type Reduction } from '../notation/reduce-workflow.ts';
import { isUnconditional, splitRules } from './live-rules.ts';

/**
 * Checks where the rules can lead: unreachable roles, rules that never fire, roles that a thread cannot leave, no path to the end.
 *
 * Reports nothing if a rule could not be read: that might be the rule that seems to be missing.
 */
export function checkReachability(report: Report, reduction: Reduction): void {
  const { live, shadowed } = splitRules(reduction.rules);
  for (const { rule, by } of shadowed) {
    const reason = isUnconditional(by) ? 'always holds' : 'asks the same';
    report.error('rule-never-fires', rule.whole.path, `${rule.name} never fires: ${by.name} before it ${reason}`, {
      hint: isUnconditional(by) ? `move it in front of ${by.name}, or remove it` : 'remove it, or change its condition',
      at: rule.whole.at,
    });
  }
  if (!reduction.isComplete) return;
  const roles = new Set(reduction.places.map(({ name }) => name));
  const branches = rolesOfBranches(reduction);
  const isKnown = (name: string): boolean => name === START || name === RESUME || name === END || roles.has(name);
  const next = edges(live, roles, isKnown);
  // A rule for limits is only tried where another rule holds, so it cannot make a role reachable by itself.
  const leading = live.filter(({ rule }) => rule.on === undefined);
  const always = edges(leading, roles, isKnown);
  const rulesPath = [String(reduction.rules[0]?.whole.path[0] ?? 'moderator')];
  if (!always.has(START)) {
    const message = `no rule leads on from ${START}, so no thread can begin`;
    return report.error('no-start', rulesPath, message, { at: 'key' });
  }
  const reached = reach([START, RESUME], next);
  for (const { name, title, path } of reduction.places) {
    if (!reached.has(name)) {
      if (branches.has(name) && !always.has(name)) continue;
      const message = `${title} is never reached: no rule that can fire leads to it`;
      report.error('unreachable-role', path, message, { at: 'key' });
    } else if (!always.has(name)) {
      const hint = 'what comes after it? Another role, or __end__ ($END in a graph)';
      report.error('dead-end', path, `${title} is a dead end: no rule leads on from it`, { hint, at: 'key' });
    }
  }
  for (const { rule, name, whole } of live) {
    if (reached.has(rule.from) || !roles.has(rule.from)) continue;
    const message = `${name} never fires: nothing leads to '${rule.from}'`;
    report.warning('rule-never-fires', whole.path, message, { at: whole.at });
  }
  // A rule that leads nowhere may be the one that was to lead to the end.
  const haveEnds = live.every(({ rule: { from, to } }) => {
    return from !== END && to !== START && to !== RESUME && isKnown(from) && isKnown(to);
  });
  if (!haveEnds) return;
  const reachesEnd = reach([END], reversed(next));
  // A dead end has its own message.
  const hasDeadEnd = (names: Iterable<string>): boolean =>
    [...names].some((name) => roles.has(name) && !next.has(name));
  if (!reachesEnd.has(START)) {
    if (hasDeadEnd(reached)) return;
    const message = `no path leads from ${START} to ${END}, so a thread never ends`;
    return report.error('no-end', rulesPath, message, { hint: 'add a rule to __end__ ($END in a graph)', at: 'key' });
  }
  for (const { name, title, path } of reduction.places) {
    if (!reached.has(name) || reachesEnd.has(name)) continue;
    const circle = [...reach([name], next)];
    if (hasDeadEnd(circle)) continue;
    const hint = circle.length > 1 ? `the thread goes round among ${listNames(circle)}` : undefined;
    report.error('no-end', path, `from ${title} no path leads to ${END}`, { hint, at: 'key' });
  }
}

/** The roles that a block runs. No rule has to lead to them. */
function rolesOfBranches({ blocks }: Reduction): Set<string> {
  return new Set(blocks.flatMap(branchesOf).flatMap(({ branch }) => branch.role ?? []));
}

type Edges = Map<string, Set<string>>;

/** The edges of the graph of rules. A mistyped role counts as the one that was meant, because it is reported already. */
function edges(rules: readonly SourceRule[], roles: ReadonlySet<string>, isKnown: (name: string) => boolean): Edges {
  const next: Edges = new Map();
  const slips = new Map<string, string>();
  const meant = (name: string): string => {
    if (isKnown(name)) return name;
    const found = slips.get(name) ?? nearestName(name, roles) ?? name;
    slips.set(name, found);
    return found;
  };
  for (const { rule } of rules) {
    const from = meant(rule.from);
    next.set(from, (next.get(from) ?? new Set()).add(meant(rule.to)));
  }
  return next;
}

function reversed(next: Edges): Edges {
  const back: Edges = new Map();
  for (const [from, targets] of next) for (const to of targets) back.set(to, (back.get(to) ?? new Set()).add(from));
  return back;
}

function reach(from: readonly string[], next: Edges): Set<string> {
  const reached = new Set(from);
  // A set is walked in the order of adding, also of what is added meanwhile.
  for (const name of reached) for (const to of next.get(name) ?? []) reached.add(to);
  return reached;
}
