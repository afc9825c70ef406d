import { didYouMean, listNames, nearestName } from '../../text/nearest-name.ts';
import { END, RESUME, START } from '../definition.ts';
import { branchesOf, type Reduction, type SourceRole, type SourceRule } from '../notation/reduce-workflow.ts';
import { askedStatuses, type AskedStatuses } from '../notation/status-condition.ts';
import type { Report } from '../source/source-map.ts';
import type { SchemaShape } from './schemas.ts';

/**
 * Compares the statuses a role can report with the rules that lead on from it.
 * @param shapes by role; a role without one is not checked
 */
export function checkStatuses(report: Report, reduction: Reduction, shapes: ReadonlyMap<string, SchemaShape>): void {
  const rulesFrom = new Map<string, SourceRule[]>();
  for (const live of splitRules(reduction.rules).live) {
    const { from, on } = live.rule;
    if (on !== undefined) continue;
    const others = rulesFrom.get(from);
    if (others === undefined) rulesFrom.set(from, [live]);
    else others.push(live);
  }
  const blocks = new Set(reduction.blocks.map(({ name }) => name));
  for (const role of reduction.places) {
    const shape = shapes.get(role.name);
    const rules = rulesFrom.get(role.name) ?? [];
    if (shape === undefined) continue;
    const statuses = shape.statuses;
    if (statuses?.includes('$SUSPEND')) {
      const message = `${role.title} lists $SUSPEND, which every role may report`;
      const hint = 'remove it from the schema; suspending needs no edge';
      report.error('reserved-status', [...role.schemaPath, ...shape.statusPath('$SUSPEND')], message, { hint });
    }
    if (rules.length === 0) continue;
    const isGraph = rules.every((rule) => rule.status !== undefined);
    if (isGraph && statuses === undefined) {
      if (blocks.has(role.name)) reportOpenJoin(report, role);
      else reportOpenStatus(report, role, shape, rules);
    }
    if (isGraph && statuses !== undefined && !shape.isStatusRequired) {
      const message = `${role.title} may leave $status out, and then no edge leads on`;
      const hint = "add '$status' to 'required' of every variant";
      report.warning('optional-status', role.schemaPath, message, { hint, at: 'key' });
    }
    if (statuses !== undefined) reportUnknownStatuses(report, role, statuses, rules);
    if (reduction.isComplete) reportGaps(report, role, shape, rules);
  }
}

function reportOpenStatus(report: Report, role: SourceRole, shape: SchemaShape, rules: readonly SourceRule[]): void {
  const listed = rules.map((rule) => rule.status).join(', ');
  const message = shape.hasStatus
    ? `the schema of ${role.title} does not list what $status can be, but its edges go by it`
    : `${role.title} reports no $status, but its edges go by it`;
  report.error(shape.hasStatus ? 'open-status' : 'no-status', role.schemaPath, message, {
    hint: `add to its properties: $status: { enum: [${listed}] }`,
    at: 'key',
  });
}

function reportOpenJoin(report: Report, { title, schemaPath }: SourceRole): void {
  const message = `the join of ${title} works out its $status, so its edges cannot list all that there can be`;
  const hint = "write a comparison or texts in quotes, or make its edges a list that ends with one without 'when'";
  report.error('open-status', schemaPath, message, { hint });
}

function reportUnknownStatuses(
  report: Report,
  role: SourceRole,
  statuses: readonly string[],
  rules: readonly SourceRule[],
): void {
  for (const rule of rules) {
    for (const status of statusesOfRule(rule)?.statuses ?? []) {
      if (statuses.includes(status)) continue;
      const { path, at } = rule.when;
      const message = `${rule.name} waits for '${status}', which ${role.title} never reports`;
      report.error('edge-without-status', path, message, { hint: didYouMean(status, statuses), at });
    }
  }
}

function reportGaps(report: Report, role: SourceRole, shape: SchemaShape, rules: readonly SourceRule[]): void {
  if (rules.some(isUnconditional)) return;
  const { statuses } = shape;
  const isGraph = rules.every((rule) => rule.status !== undefined);
  const handled = rules.map((rule) => handledStatuses(rule, statuses ?? []));
  if (statuses === undefined || (!isGraph && handled.includes(undefined))) {
    if (isGraph) return;
    const message = `all rules that lead on from ${role.title} have conditions; when none holds the thread fails`;
    return report.warning('no-fallback', role.path, message, {
      hint: "let the last of them be 'when: null'",
      at: 'key',
    });
  }
  const covered = new Set(handled.flatMap((list) => list ?? []));
  for (const status of statuses) {
    if (covered.has(status) || status === '$SUSPEND') continue;
    const last = rules.findLast((rule) => rule.status === status);
    if (last === undefined) {
      const message = `${role.title} can report '${status}', but no rule leads on from there`;
      const hint = covered.size > 0 ? `there are rules for ${listNames([...covered])}` : undefined;
      report.error('status-without-edge', [...role.schemaPath, ...shape.statusPath(status)], message, { hint });
    } else {
      const message = `all edges for '${status}' of ${role.title} have conditions; when none holds the thread fails`;
      const hint = "end with an edge without 'when': edges of one status may be a list";
      report.warning('no-fallback', last.whole.path, message, { hint });
    }
  }
}

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

/** A rule that is never tried, because an earlier rule of the same role always holds where it would. */
type ShadowedRule = { rule: SourceRule; by: SourceRule };

/** Splits rules into those that can decide and those that an earlier rule always decides before. */
export function splitRules(rules: readonly SourceRule[]): { live: SourceRule[]; shadowed: ShadowedRule[] } {
  const live: SourceRule[] = [];
  const shadowed: ShadowedRule[] = [];
  const deciders = new Map<string, Decider>();
  for (const rule of rules) {
    const keys = [ALWAYS, askedStatus(rule), askedCondition(rule)].map((key) => keyOf(rule, key));
    const by = keys.flatMap((key) => deciders.get(key) ?? []).reduce(earlier, undefined);
    if (by !== undefined) {
      shadowed.push({ rule, by: by.rule });
      continue;
    }
    const whole = rule.condition === undefined ? askedStatus(rule) : undefined;
    for (const asked of [isUnconditional(rule) ? ALWAYS : undefined, whole, askedCondition(rule)]) {
      // The key is new: had a live rule the same key, this rule would be shadowed.
      if (asked !== undefined) deciders.set(keyOf(rule, asked), { rule, index: live.length });
    }
    live.push(rule);
  }
  return { live, shadowed };
}

/** A live rule that keeps later ones of its key from being asked, and its place among the live rules. */
type Decider = { rule: SourceRule; index: number };

function earlier(one: Decider | undefined, other: Decider): Decider {
  return one === undefined || other.index < one.index ? other : one;
}

/** A rule's condition in a form that can be compared: always, a status, or an expression. */
type Asked = readonly [kind: 'always' | 'status' | 'condition', text: string];

const ALWAYS: Asked = ['always', ''];

function askedStatus({ status }: SourceRule): Asked | undefined {
  return status === undefined ? undefined : ['status', status];
}

function askedCondition({ rule: { when } }: SourceRule): Asked | undefined {
  return when === null ? undefined : ['condition', when.trim()];
}

/** Rules of the same role, with the same `on` and the same condition, have the same key. */
function keyOf({ rule: { from, on } }: SourceRule, asked: Asked | undefined): string {
  return JSON.stringify([from, on ?? null, ...(asked ?? ALWAYS)]);
}

export function isUnconditional({ rule }: SourceRule): boolean {
  return rule.when === null || rule.when.trim() === 'true';
}

/** The statuses a rule's condition names; `undefined` where it does not go by the status alone. */
function statusesOfRule({ rule, status }: SourceRule): AskedStatuses | undefined {
  if (status !== undefined) return { statuses: [status], isNegated: false };
  return rule.when === null ? undefined : askedStatuses(rule.when, rule.from);
}

/**
 * The statuses with which a rule holds; `undefined` if its condition does not depend on the status alone.
 * @param all the statuses that the role's schema lists
 */
export function handledStatuses(rule: SourceRule, all: readonly string[]): readonly string[] | undefined {
  if (rule.status !== undefined && rule.condition !== undefined) return undefined;
  const asked = statusesOfRule(rule);
  if (asked === undefined || !asked.isNegated) return asked?.statuses;
  return all.filter((status) => !asked.statuses.includes(status));
}
