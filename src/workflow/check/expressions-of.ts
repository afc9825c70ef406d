import { isExpression, type WorkflowDefinition } from '../definition.ts';

/** Expressions of one workflow together, in UTF-16 units: parsing alone takes a second for each 64 thousand. */
export const MAX_EXPRESSIONS = 262_144;

/** How long the expressions of a workflow are together, in UTF-16 units. */
export function lengthOfExpressions(definition: WorkflowDefinition): number {
  return expressionsOf(definition).reduce((sum, source) => sum + source.length, 0);
}

/** The conditions and checks of a workflow, and the expressions of its blocks, each once. */
export function expressionsOf({ roles, blocks = {}, moderator }: WorkflowDefinition): string[] {
  const checks = Object.values(roles).flatMap(({ check }) => (check ?? []).map(({ expression }) => expression));
  const ofBlocks = Object.values(blocks).flatMap(({ each, join }) => [
    ...(each ? [each.over, each.key] : []),
    ...(isExpression(join) ? [join] : []),
  ]);
  return [...new Set([...moderator.flatMap(({ when }) => when ?? []), ...checks, ...ofBlocks])];
}
