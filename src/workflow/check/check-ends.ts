import { END, RESUME, START } from '../definition.ts';
import { didYouMean } from '../did-you-mean.ts';
import type { Reduction } from '../notation/reduce-workflow.ts';
import type { Report } from '../report.ts';

const inRules: Readonly<Record<string, string>> = { $START: START, $END: END, start: START, end: END };

/** Checks that every rule leads from something that is there to something that is there. */
export function checkEnds(report: Report, { rules, roles, unusedConditions }: Reduction): void {
  const names = roles.map((role) => role.name);
  const known = new Set(names);
  // Where no role could be read, that is the mistake, and not each rule.
  const isRole = (name: string): boolean => known.has(name) || known.size === 0;
  for (const { rule, name, from, to } of rules) {
    if (rule.from === END) {
      report.error('reserved-name', from.path, `${name} leads on from ${END}, where the thread is over`, {
        ...at(from),
      });
    } else if (rule.from !== START && rule.from !== RESUME && !isRole(rule.from)) {
      report.error('unknown-role', from.path, `${name} leads on from '${rule.from}', which is no role`, {
        hint: hintFor(rule.from, names, [START, RESUME]),
        ...at(from),
      });
    }
    if (rule.to === START || rule.to === RESUME) {
      report.error('reserved-name', to.path, `${name} leads to ${rule.to}, which is only ever a beginning`, {
        ...at(to),
      });
    } else if (rule.to !== END && !isRole(rule.to)) {
      report.error('unknown-role', to.path, `${name} leads to '${rule.to}', which is no role`, {
        hint: hintFor(rule.to, names, [END]),
        ...at(to),
      });
    }
  }
  for (const [name, condition] of unusedConditions) {
    report.warning('unused-condition', condition.path, `no edge asks for the condition '${name}'`, { at: 'key' });
  }
}

function at(place: { at?: 'key' | 'value' | { offset: number } }): { at?: 'key' | 'value' | { offset: number } } {
  return place.at === undefined ? {} : { at: place.at };
}

function hintFor(name: string, roles: readonly string[], reserved: readonly string[]): string | undefined {
  const meant = inRules[name];
  if (meant !== undefined && reserved.includes(meant)) return `did you mean '${meant}'?`;
  return didYouMean(name, [...roles, ...reserved]);
}
