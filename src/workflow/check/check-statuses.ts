import { didYouMean, listNames } from '../../text/nearest-name.ts';
import type { Report } from '../diagnostics/report.ts';
import type { SourceRule, Reduction, SourceRole } from '../notation/reduce-workflow.ts';
import { isUnconditional, splitRules, handledStatuses, statusesOfRule } from './live-rules.ts';
import type { SchemaShape } from './schema-shape.ts';

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

/** Reports replies of a role for which no rule holds. */
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
