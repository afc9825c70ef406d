import { END, RESUME, START, type WorkflowDefinition } from '../definition.ts';
import { askedStatuses } from '../notation/status-condition.ts';

/** How a workflow can be drawn. */
export type GraphFormat = 'text' | 'mermaid' | 'dot';

/** A line of the picture: a rule, with its condition as people say it. */
export type Edge = {
  from: string;
  to: string;
  /** `rejected`, `not approved`, the JSONata itself; empty where the rule always holds, `otherwise` behind others. */
  label: string;
};

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
  const edges = edgesOf(definition);
  if (format === 'mermaid') return renderMermaid(edges);
  return format === 'dot' ? renderDot(definition.name, edges) : renderText(definition, edges);
}

/** The edges of a workflow, one for each rule, in their order. */
export function edgesOf({ moderator }: WorkflowDefinition): Edge[] {
  return moderator.map(({ from, to, when, on, returnCode }, index) => {
    const isFallback = moderator.slice(0, index).some((earlier) => earlier.from === from && earlier.on === on);
    const condition = when === null ? (isFallback ? 'otherwise' : '') : labelOf(when, from);
    const limit = on === undefined ? '' : 'at a limit';
    const code = returnCode === undefined || returnCode === 0 ? '' : `exit ${returnCode}`;
    return { from, to, label: [limit, condition, code].filter((part) => part !== '').join(', ') };
  });
}

function labelOf(when: string, from: string): string {
  const asked = askedStatuses(when, from);
  if (asked === undefined) return when.replaceAll(/\s+/g, ' ').trim();
  return `${asked.isNegated ? 'not ' : ''}${asked.statuses.join(' or ')}`;
}

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
function renderText({ roles }: WorkflowDefinition, edges: readonly Edge[]): string {
  const blocks: string[] = [];
  for (const name of reachOrder(Object.keys(roles), edges)) {
    const description = roles[name]?.description.split('\n', 1)[0] ?? '';
    const own = edges.filter(({ from }) => from === name);
    if (own.length === 0 && (name === START || name === RESUME)) continue;
    const lines = own.map(({ to, label }, index) => {
      const branch = index === own.length - 1 ? '└─' : '├─';
      return `  ${branch}${label === '' ? '' : ` ${label} `}──▶ ${titleOf(to)}`;
    });
    blocks.push([description === '' ? titleOf(name) : `${titleOf(name)}   ${description}`, ...lines].join('\n'));
  }
  return `${blocks.join('\n\n')}\n`;
}

function reachOrder(roles: readonly string[], edges: readonly Edge[]): Set<string> {
  const order = new Set([START]);
  // A set is walked in the order of adding, also of what is added meanwhile.
  for (const name of order) for (const { from, to } of edges) if (from === name && to !== END) order.add(to);
  return new Set([...order, RESUME, ...roles]);
}

/** Reserved names without their underscores. A role may be called `end` itself. */
export function titleOf(name: string): string {
  return isReserved(name) ? name.replaceAll('_', '') : name;
}

/** Tells whether a name in a rule is that of no role. */
export function isReserved(name: string): boolean {
  return name === START || name === RESUME || name === END;
}

function renderMermaid(edges: readonly Edge[]): string {
  // Names can hold what Mermaid takes for syntax (`end`, dots), so that nodes are numbered and labelled.
  const ids = new Map([...namesIn(edges)].map((name, index) => [name, `n${index}`]));
  const nodes = [...ids].map(([name, id]) => `  ${id}${mermaidShape(name)}`);
  const arrows = edges.map(({ from, to, label }) => {
    const text = label === '' ? '' : `|"${escapeMermaid(label)}"|`;
    return `  ${ids.get(from)} -->${text} ${ids.get(to)}`;
  });
  return `${['flowchart TD', ...nodes, ...arrows].join('\n')}\n`;
}

function namesIn(edges: readonly Edge[]): Set<string> {
  return new Set(edges.flatMap(({ from, to }) => [from, to]));
}

function mermaidShape(name: string): string {
  if (name === END) return '(((end)))';
  return isReserved(name) ? `((${titleOf(name)}))` : `["${escapeMermaid(name)}"]`;
}

/** Source: Mermaid's entity codes, and its Markdown strings, which begin with a backtick. */
function escapeMermaid(text: string): string {
  return text
    .replaceAll('#', '#35;')
    .replaceAll('"', '#quot;')
    .replaceAll('`', '#96;')
    .replaceAll('<', '#lt;')
    .replaceAll('>', '#gt;');
}

function renderDot(name: string, edges: readonly Edge[]): string {
  const nodes = [...namesIn(edges)].filter(isReserved).map((node) => {
    const shape = node === END ? 'doublecircle' : 'circle';
    return `  ${quoteDot(node)} [shape=${shape}, label=${quoteDot(titleOf(node))}];`;
  });
  const arrows = edges.map(({ from, to, label }) => {
    const text = label === '' ? '' : ` [label=${quoteDot(label)}]`;
    return `  ${quoteDot(from)} -> ${quoteDot(to)}${text};`;
  });
  return `${[`digraph ${quoteDot(name)} {`, '  node [shape=box, style=rounded];', ...nodes, ...arrows, '}'].join('\n')}\n`;
}

function quoteDot(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
