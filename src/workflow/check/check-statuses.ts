import { didYouMean, listNames } from '../did-you-mean.ts';
import type { SourceRule } from '../notation/read-rules.ts';
import type { Reduction, SourceRole } from '../notation/reduce-workflow.ts';
import type { Report, ReportOptions } from '../report.ts';
import { isUnconditional, splitRules } from './live-rules.ts';
import { askedStatuses, handledStatuses } from './rule-statuses.ts';
import type { SchemaShape } from './schema-shape.ts';

/**
 * Compares the statuses a role can report with the rules that lead on from it.
 * @param shapes what the schemas say, by role; a role without one is passed over
 */
export function checkStatuses(report: Report, reduction: Reduction, shapes: ReadonlyMap<string, SchemaShape>): void {
  const { live } = splitRules(reduction.rules);
  for (const role of reduction.roles) {
    const shape = shapes.get(role.name);
    const rules = live.filter(({ rule }) => rule.from === role.name && rule.on === undefined);
    if (shape === undefined) continue;
    const statuses = shape.statuses;
    if (statuses?.includes('$SUSPEND')) {
      report.error(
        'reserved-status',
        [...role.schemaPath, ...shape.statusPath('$SUSPEND')],
        `role '${role.name}' lists $SUSPEND, which every role may report`,
        {
          hint: 'remove it from the schema; suspending needs no edge',
        },
      );
    }
    if (rules.length === 0) continue;
    const isGraph = rules.every((rule) => rule.status !== undefined);
    if (isGraph && statuses === undefined) reportOpenStatus(report, role, shape, rules);
    if (isGraph && statuses !== undefined && !shape.isStatusRequired) {
      report.warning(
        'optional-status',
        role.schemaPath,
        `role '${role.name}' may leave $status out, and then no edge leads on`,
        {
          hint: "add '$status' to 'required' of every variant",
          at: 'key',
        },
      );
    }
    if (statuses !== undefined) reportUnknownStatuses(report, role, statuses, rules);
    if (reduction.isComplete) reportGaps(report, role, shape, rules);
  }
}

function reportOpenStatus(report: Report, role: SourceRole, shape: SchemaShape, rules: readonly SourceRule[]): void {
  const listed = rules.map((rule) => rule.status).join(', ');
  const message = shape.hasStatus
    ? `the schema of role '${role.name}' does not list what $status can be, but its edges go by it`
    : `role '${role.name}' reports no $status, but its edges go by it`;
  report.error(shape.hasStatus ? 'open-status' : 'no-status', role.schemaPath, message, {
    hint: `add to its properties: $status: { enum: [${listed}] }`,
    at: 'key',
  });
}

function reportUnknownStatuses(
  report: Report,
  role: SourceRole,
  statuses: readonly string[],
  rules: readonly SourceRule[],
): void {
  for (const rule of rules) {
    for (const status of askedStatuses(rule)?.statuses ?? []) {
      if (statuses.includes(status)) continue;
      const place: ReportOptions = rule.when.at === undefined ? {} : { at: rule.when.at };
      report.error(
        'edge-without-status',
        rule.when.path,
        `${rule.name} waits for '${status}', which role '${role.name}' never reports`,
        {
          hint: didYouMean(status, statuses),
          ...place,
        },
      );
    }
  }
}

/** What is left over when no rule holds. */
function reportGaps(report: Report, role: SourceRole, shape: SchemaShape, rules: readonly SourceRule[]): void {
  if (rules.some(isUnconditional)) return;
  const { statuses } = shape;
  const isGraph = rules.every((rule) => rule.status !== undefined);
  const handled = rules.map((rule) => handledStatuses(rule, statuses ?? []));
  if (statuses !== undefined && (isGraph || handled.every((list) => list !== undefined))) {
    const covered = new Set(handled.flatMap((list) => list ?? []));
    for (const status of statuses) {
      if (covered.has(status) || status === '$SUSPEND') continue;
      const last = rules.findLast((rule) => rule.status === status);
      if (last === undefined) reportUncovered(report, role, shape, { status, covered });
      else reportOnlyConditions(report, role, last);
    }
    return;
  }
  if (isGraph) return;
  report.warning(
    'no-fallback',
    role.path,
    `all rules that lead on from role '${role.name}' have conditions; when none holds the thread fails`,
    {
      hint: "let the last of them be 'when: null'",
      at: 'key',
    },
  );
}

function reportUncovered(
  report: Report,
  role: SourceRole,
  shape: SchemaShape,
  { status, covered }: { status: string; covered: ReadonlySet<string> },
): void {
  report.error(
    'status-without-edge',
    [...role.schemaPath, ...shape.statusPath(status)],
    `role '${role.name}' can report '${status}', but no rule leads on from there`,
    {
      hint: covered.size > 0 ? `there are rules for ${listNames([...covered])}` : undefined,
    },
  );
}

function reportOnlyConditions(report: Report, role: SourceRole, { status, whole }: SourceRule): void {
  const message = `all edges for '${status}' of role '${role.name}' have conditions; when none holds the thread fails`;
  const hint = "end with an edge without 'when': edges of one status may be a list";
  report.warning('no-fallback', whole.path, message, { hint });
}
