import type { WorkflowDefinition } from './definition.ts';
import { renderDot } from './graph/dot.ts';
import { renderMermaid } from './graph/mermaid.ts';
import { renderText } from './graph/text.ts';
import { workflowEdges } from './graph/workflow-edges.ts';

/** How a workflow can be drawn. */
export type GraphFormat = 'text' | 'mermaid' | 'dot';

/**
 * Draws a workflow: its roles, where rules lead, and under which condition.
 *
 * - `text`: for the terminal, a block per role
 * - `mermaid`: what GitHub and GitLab draw in Markdown. Source: mermaid.js.org, flowchart syntax
 * - `dot`: Graphviz. Source: graphviz.org, DOT language
 *
 * Ends with a newline.
 */
export function renderGraph(definition: WorkflowDefinition, format: GraphFormat): string {
  const edges = workflowEdges(definition);
  if (format === 'mermaid') return renderMermaid(edges);
  return format === 'dot' ? renderDot(definition.name, edges) : renderText(definition, edges);
}
