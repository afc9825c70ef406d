import type { WorkflowDefinition } from '../definition.ts';

/** Expressions of one workflow together, in UTF-16 units: parsing alone takes a second for each 64 thousand. */
export const MAX_EXPRESSIONS = 262_144;

/** How long the conditions and checks of a workflow are together, in UTF-16 units. */
export function lengthOfExpressions(definition: WorkflowDefinition): number {
  return expressionsOf(definition).reduce((sum, source) => sum + source.length, 0);
}

/** The conditions and checks of a workflow, each once. */
export function expressionsOf({ roles, moderator }: WorkflowDefinition): string[] {
  const checks = Object.values(roles).flatMap(({ check }) => (check ?? []).map(({ expression }) => expression));
  return [...new Set([...moderator.flatMap(({ when }) => when ?? []), ...checks])];
}
