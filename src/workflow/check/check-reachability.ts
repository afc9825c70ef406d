import { END, RESUME, START } from '../definition.ts';
import { nearestName } from '../../nearest-name.ts';
import { listNames } from '../did-you-mean.ts';
import type { SourceRule } from '../notation/read-rules.ts';
import type { Reduction } from '../notation/reduce-workflow.ts';
import type { Report, ReportOptions } from '../report.ts';
import { isUnconditional, splitRules } from './live-rules.ts';

/**
 * Checks where the rules can lead: roles nobody reaches, rules that never fire, roles the thread cannot leave, no way to the end.
 *
 * Says nothing when a rule could not be read: it might be the missing one.
 */
export function checkReachability(report: Report, reduction: Reduction): void {
  const { live, shadowed } = splitRules(reduction.rules);
  for (const { rule, by } of shadowed) {
    const reason = isUnconditional(by) ? 'always holds' : 'asks the same';
    report.error('rule-never-fires', rule.whole.path, `${rule.name} never fires: ${by.name} before it ${reason}`, {
      hint: isUnconditional(by) ? `move it in front of ${by.name}, or remove it` : 'remove it, or change its condition',
      ...at(rule),
    });
  }
  if (!reduction.isComplete) return;
  const next = edges(live, reduction);
  // Rules for limits lead on only where another one does.
  const always = edges(
    live.filter(({ rule }) => rule.on === undefined),
    reduction,
  );
  if (!always.has(START)) {
    report.error('no-start', rulesPath(reduction), `no rule leads on from ${START}, so no thread can begin`, {
      at: 'key',
    });
    return;
  }
  const reached = reach([START, RESUME], next);
  const reachesEnd = reach([END], reversed(next));
  for (const role of reduction.roles) {
    const name = `role '${role.name}'`;
    if (!reached.has(role.name)) {
      report.error('unreachable-role', role.path, `${name} is never reached: no rule that can fire leads to it`, {
        at: 'key',
      });
    } else if (!always.has(role.name)) {
      report.error('dead-end', role.path, `${name} is a dead end: no rule leads on from it`, {
        hint: 'what comes after it? Another role, or __end__ ($END in a graph)',
        at: 'key',
      });
    }
  }
  for (const rule of live) {
    const { from } = rule.rule;
    if (from === START || from === RESUME || reached.has(from) || !isRole(reduction, from)) continue;
    report.warning(
      'rule-never-fires',
      rule.whole.path,
      `${rule.name} never fires: nothing leads to '${from}'`,
      at(rule),
    );
  }
  // A rule that leads nowhere may be the one that was to lead to the end.
  if (live.every((rule) => hasEnds(rule, reduction))) reportNoEnd(report, reduction, next, reached, reachesEnd);
}

function reportNoEnd(
  report: Report,
  reduction: Reduction,
  next: Edges,
  reached: ReadonlySet<string>,
  reachesEnd: ReadonlySet<string>,
): void {
  const isStuck = [...reached].some((name) => isRole(reduction, name) && !next.has(name));
  if (!reachesEnd.has(START)) {
    // The dead end is the reason, and is reported.
    if (isStuck) return;
    report.error('no-end', rulesPath(reduction), `no path leads from ${START} to ${END}, so a thread never ends`, {
      hint: 'add a rule to __end__ ($END in a graph)',
      at: 'key',
    });
    return;
  }
  // A dead end has its own message; here are circles that nobody leaves.
  const stuck = reduction.roles.filter(
    (role) =>
      reached.has(role.name) &&
      next.has(role.name) &&
      !reachesEnd.has(role.name) &&
      !leadsToDeadEnd(role.name, next, reduction),
  );
  for (const role of stuck) {
    const circle = [...reach([role.name], next)].filter((name) => isRole(reduction, name));
    report.error('no-end', role.path, `from role '${role.name}' no path leads to ${END}`, {
      hint: circle.length > 1 ? `the thread goes round among ${listNames(circle)}` : undefined,
      at: 'key',
    });
  }
}

type Edges = Map<string, Set<string>>;

/** Where each rule leads. A mistyped role counts as the one that was meant: the slip is reported, and is one mistake. */
function edges(rules: readonly SourceRule[], reduction: Reduction): Edges {
  const next: Edges = new Map();
  const meant = (name: string): string =>
    isKnown(reduction, name)
      ? name
      : (nearestName(
          name,
          reduction.roles.map((role) => role.name),
        ) ?? name);
  for (const { rule } of rules) {
    const from = meant(rule.from);
    next.set(from, (next.get(from) ?? new Set()).add(meant(rule.to)));
  }
  return next;
}

function hasEnds({ rule }: SourceRule, reduction: Reduction): boolean {
  const isBeginning = rule.to === START || rule.to === RESUME;
  return rule.from !== END && !isBeginning && isKnown(reduction, rule.from) && isKnown(reduction, rule.to);
}

function isKnown(reduction: Reduction, name: string): boolean {
  return name === START || name === RESUME || name === END || isRole(reduction, name);
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

function leadsToDeadEnd(name: string, next: Edges, reduction: Reduction): boolean {
  return [...reach([name], next)].some((reached) => isRole(reduction, reached) && !next.has(reached));
}

function isRole({ roles }: Reduction, name: string): boolean {
  return roles.some((role) => role.name === name);
}

function rulesPath({ rules }: Reduction): string[] {
  const [first] = rules[0]?.whole.path ?? ['moderator'];
  return [String(first)];
}

function at(rule: SourceRule): Pick<ReportOptions, 'at'> {
  return rule.whole.at === undefined ? {} : { at: rule.whole.at };
}
