import { END, RESUME, START, type WorkflowDefinition } from '../definition.ts';
import type { WorkflowEdge } from './workflow-edges.ts';

/**
 * Draws edges for a terminal: a block per role, in the order in which a thread can first reach them.
 *
 * ```
 * start ──▶ writer
 *
 * checker   checks
 *   ├─ rejected ──▶ writer
 *   └─ otherwise ──▶ end
 * ```
 */
export function renderText({ roles }: WorkflowDefinition, edges: readonly WorkflowEdge[]): string {
  const blocks: string[] = [];
  for (const name of reachOrder(Object.keys(roles), edges)) {
    const description = roles[name]?.description.split('\n', 1)[0] ?? '';
    const own = edges.filter(({ from }) => from === name);
    if (own.length === 0 && (name === START || name === RESUME)) continue;
    const lines = own.map(({ to, label }, index) => {
      const branch = index === own.length - 1 ? '└─' : '├─';
      return `  ${branch}${label === '' ? '' : ` ${label} `}──▶ ${title(to)}`;
    });
    blocks.push([description === '' ? title(name) : `${title(name)}   ${description}`, ...lines].join('\n'));
  }
  return `${blocks.join('\n\n')}\n`;
}

function reachOrder(roles: readonly string[], edges: readonly WorkflowEdge[]): Set<string> {
  const order = new Set([START]);
  // A set is walked in the order of adding, also of what is added meanwhile.
  for (const name of order) for (const { from, to } of edges) if (from === name && to !== END) order.add(to);
  return new Set([...order, RESUME, ...roles]);
}

function title(name: string): string {
  return name === START || name === RESUME || name === END ? name.replaceAll('_', '') : name;
}
