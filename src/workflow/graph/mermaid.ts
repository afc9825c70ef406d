import { END, RESUME, START } from '../definition.ts';
import type { WorkflowEdge } from './workflow-edges.ts';

/** Draws edges as a Mermaid flowchart. */
export function renderMermaid(edges: readonly WorkflowEdge[]): string {
  const ids = new Map<string, string>();
  const lines = ['flowchart TD'];
  for (const name of edges.flatMap(({ from, to }) => [from, to])) {
    if (ids.has(name)) continue;
    // Names can hold what Mermaid takes for syntax (`end`, dots), so that nodes are numbered and labelled.
    const id = `n${ids.size}`;
    ids.set(name, id);
    lines.push(`  ${id}${shape(name)}`);
  }
  for (const { from, to, label } of edges) {
    const text = label === '' ? '' : `|"${escape(label)}"|`;
    lines.push(`  ${ids.get(from)} -->${text} ${ids.get(to)}`);
  }
  return `${lines.join('\n')}\n`;
}

function shape(name: string): string {
  if (name === START) return '((start))';
  if (name === RESUME) return '((resume))';
  if (name === END) return '(((end)))';
  return `["${escape(name)}"]`;
}

/** Source: Mermaid's entity codes, and its Markdown strings, which begin with a backtick. */
function escape(text: string): string {
  return text
    .replaceAll('#', '#35;')
    .replaceAll('"', '#quot;')
    .replaceAll('`', '#96;')
    .replaceAll('<', '#lt;')
    .replaceAll('>', '#gt;');
}
