import { END, RESUME, START } from '../definition.ts';
import type { WorkflowEdge } from './workflow-edges.ts';

/** Draws edges as a Graphviz digraph. */
export function renderDot(name: string, edges: readonly WorkflowEdge[]): string {
  const lines = [`digraph ${quote(name)} {`, '  node [shape=box, style=rounded];'];
  for (const node of new Set(edges.flatMap(({ from, to }) => [from, to]))) {
    if (node === START || node === RESUME)
      lines.push(`  ${quote(node)} [shape=circle, label=${quote(node.replaceAll('_', ''))}];`);
    if (node === END) lines.push(`  ${quote(node)} [shape=doublecircle, label="end"];`);
  }
  for (const { from, to, label } of edges) {
    const text = label === '' ? '' : ` [label=${quote(label)}]`;
    lines.push(`  ${quote(from)} -> ${quote(to)}${text};`);
  }
  return `${[...lines, '}'].join('\n')}\n`;
}

function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
