import { isJsonObject, type JsonValue } from '../../json.ts';
import type { PlainComparison } from '../analysis/plain-comparison.ts';
import { isMark, stepFunctions, type Scope } from './scope.ts';

/**
 * Evaluates a comparison as JSONata does: a member that is not there is neither equal nor unequal.
 *
 * @returns `undefined` where the scope is not that of a rule, or the member is no text, number or truth: JSONata has rules of its own
 *   for lists
 */
export function comparePlainly(comparison: PlainComparison, scope: Scope): boolean | undefined {
  const { bindings } = scope;
  const { member, isNegated, literal } = comparison;
  if (isMark(member) || !Array.isArray(bindings['steps'])) return undefined;
  const subject = subjectOf(comparison, scope);
  if (subject === undefined) return false;
  if (!isJsonObject(subject)) return undefined;
  if (!Object.hasOwn(subject, member)) return false;
  const value = subject[member];
  return typeof value === 'object' ? undefined : (value === literal) !== isNegated;
}

/** The value that a comparison takes a member of; null where JSONata has to find it. */
function subjectOf({ of, role }: PlainComparison, { bindings, roles }: Scope): JsonValue | undefined {
  const { steps } = bindings;
  if (of === 'start') return bindings['start'];
  if (of !== 'newest') {
    const ends = Object.hasOwn(bindings, of) ? undefined : stepFunctions(steps, roles)[of];
    return ends === undefined ? null : ends(role);
  }
  const newest = Array.isArray(steps) ? steps.at(-1) : undefined;
  if (newest === undefined) return undefined;
  return isJsonObject(newest) ? newest['meta'] : null;
}
