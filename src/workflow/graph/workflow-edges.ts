import type { WorkflowDefinition } from '../definition.ts';
import { askedStatuses } from '../notation/status-condition.ts';

/** A line of the picture: a rule, with its condition as people say it. */
export type WorkflowEdge = {
  from: string;
  to: string;
  /** `rejected`, `not approved`, the JSONata itself; empty where the rule always holds, `otherwise` behind others. */
  label: string;
};

/** The edges of a workflow, in the order of its rules. */
export function workflowEdges({ moderator }: WorkflowDefinition): WorkflowEdge[] {
  return moderator.map(({ from, to, when, on, returnCode }, index) => {
    const isFallback = moderator.slice(0, index).some((earlier) => earlier.from === from && earlier.on === on);
    const condition = when === null ? (isFallback ? 'otherwise' : '') : describe(when, from);
    const limit = on === undefined ? '' : 'at a limit';
    const code = returnCode === undefined || returnCode === 0 ? '' : `exit ${returnCode}`;
    return { from, to, label: [limit, condition, code].filter((part) => part !== '').join(', ') };
  });
}

function describe(when: string, from: string): string {
  const asked = askedStatuses(when, from);
  if (asked === undefined) return when.replaceAll(/\s+/g, ' ').trim();
  return `${asked.isNegated ? 'not ' : ''}${asked.statuses.join(' or ')}`;
}
