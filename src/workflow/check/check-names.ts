import { didYouMean } from '../../text/nearest-name.ts';
import { basename, dirname, extname } from 'node:path';
import { roleName } from '../notation/field-schemas.ts';
import { NAME_RULE, workflowName } from '../notation/file-schema.ts';
import type { Reduction } from '../notation/reduce-workflow.ts';
import type { Report } from '../diagnostics/report.ts';
import type { Path } from '../source/source-map.ts';
import { END, RESUME, START } from '../definition.ts';

/** Tells why a text cannot name a workflow; `undefined` if it can. */
export function whyNoWorkflowName(name: string): string | undefined {
  if (!workflowName.test(name)) return NAME_RULE;
  // Source: git-check-ref-format(1), for the name becomes a ref.
  if (name.includes('..')) return "git allows no '..' in a ref name";
  if (name.endsWith('.') || name.endsWith('.lock')) return "git allows no ref name that ends in '.' or '.lock'";
  return undefined;
}

/** The name that a workflow file's path asks for: its stem, or for `index.yaml` its folder's name. */
export function nameFromPath(file: string): string {
  const stem = basename(file, extname(file));
  return stem === 'index' ? basename(dirname(file)) : stem;
}

/**
 * Checks the names of the workflow and of its roles.
 * @param file the file it stands in, whose stem has to be the name; absent for a definition that came from no file
 */
export function checkNames(report: Report, reduction: Reduction, file: string | undefined): void {
  const { name } = reduction.definition;
  const path = ['name'];
  if (name !== '') {
    const reason = whyNoWorkflowName(name);
    if (reason !== undefined) report.error('bad-name', path, `'${name}' cannot name a workflow`, { hint: reason });
    if (file !== undefined && nameFromPath(file) !== name) {
      report.error('name-mismatch', path, `the workflow is called '${name}' but its file '${basename(file)}'`, {
        hint: `rename one of them: a workflow is found by its file's name`,
      });
    }
  }
  for (const role of reduction.roles) checkRoleName(report, role, 'a role');
}

/** Checks the name of a role, or of what is named as roles are. */
export function checkRoleName(report: Report, { name, path }: { name: string; path: Path }, what: string): void {
  if (/^(?:\$|__)/.test(name)) {
    report.error('reserved-name', path, `'${name}' is reserved and cannot name ${what}`, {
      hint: `${START}, ${RESUME}, ${END} and names that begin with $ have a meaning of their own`,
      at: 'key',
    });
  } else if (!roleName.test(name)) {
    report.error('bad-name', path, `'${name}' cannot name ${what}`, { hint: NAME_RULE, at: 'key' });
  }
}

/** Other common names of the ends of rules, in lower case. */
const inRules: Readonly<Record<string, string>> = { $start: START, $end: END, start: START, end: END };

/** Checks that both ends of every rule exist. */
export function checkEnds(report: Report, { rules, places, unusedConditions }: Reduction): void {
  const names = places.map((role) => role.name);
  const known = new Set(names);
  // If no role could be read, only that is reported, not every rule.
  const hintFor = hints(names);
  const isRole = (name: string): boolean => known.has(name) || known.size === 0;
  for (const { rule, name, from, to } of rules) {
    const ends = [
      { ...from, end: rule.from, leads: 'leads on from', allowed: [START, RESUME], why: 'where the thread is over' },
      { ...to, end: rule.to, leads: 'leads to', allowed: [END], why: 'which is only ever a beginning' },
    ];
    for (const { path, at, end, leads, allowed, why } of ends) {
      if (allowed.includes(end)) continue;
      if (end === START || end === RESUME || end === END) {
        report.error('reserved-name', path, `${name} ${leads} ${end}, ${why}`, { at });
      } else if (!isRole(end)) {
        const hint = hintFor(end, allowed);
        report.error('unknown-role', path, `${name} ${leads} '${end}', which is no role`, { hint, at });
      }
    }
  }
  for (const [name, condition] of unusedConditions) {
    report.warning('unused-condition', condition.path, `no edge asks for the condition '${name}'`, { at: 'key' });
  }
}

/** Makes hints for unknown names. One wrong name may stand in thousands of rules, and is compared with the roles once. */
function hints(roles: readonly string[]): (name: string, reserved: readonly string[]) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (name, reserved) => {
    const meant = inRules[name.toLowerCase()];
    if (meant !== undefined && reserved.includes(meant)) return `did you mean '${meant}'?`;
    const key = JSON.stringify([name, reserved]);
    if (!known.has(key)) known.set(key, didYouMean(name, [...roles, ...reserved]));
    return known.get(key);
  };
}
