import {
  type BlockDefinition,
  type BranchDefinition,
  END,
  findBlock,
  type JoinDefinition,
  needsOf,
  RESUME,
  START,
  type WorkflowDefinition,
} from '../definition.ts';
import { askedStatuses } from '../notation/status-condition.ts';

type GraphFormat = 'text' | 'mermaid' | 'dot';

/** An edge of the graph: a rule, with its condition in plain words. */
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
  if (format === 'mermaid') return renderMermaid(definition, edges);
  return format === 'dot' ? renderDot(definition, edges) : renderText(definition, edges);
}

/** The branches of a block that are drawn by name. */
const MAX_BRANCHES_NAMED = 8;

/** The names of the branches of a block, or of the first if there are many; none for a role. */
export function shownBranches(definition: WorkflowDefinition, place: string): string[] {
  const block = findBlock(definition, place);
  if (block === undefined) return [];
  return foldBranches(
    describeBranches(block).map(({ name }) => name),
    MAX_BRANCHES_NAMED,
  );
}

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
 * Draws edges for a terminal: a paragraph per role or block, in the order in which a thread can first reach them.
 *
 * ```
 * start ──▶ writer
 *
 * checker   checks
 *   ├─ rejected ──▶ writer
 *   └─ otherwise ──▶ end
 *
 * reviews   2 branches, join all
 *   ║ security   workflow review
 *   ║ style      role critic
 *   └───▶ end
 * ```
 */
function renderText(definition: WorkflowDefinition, edges: readonly Edge[]): string {
  const { roles, blocks = {} } = definition;
  const paragraphs: string[] = [];
  for (const name of reachOrder([...Object.keys(roles), ...Object.keys(blocks)], edges)) {
    const block = findBlock(definition, name);
    const description = block ? sayBlock(block) : (roles[name]?.description.split('\n', 1)[0] ?? '');
    const needs = needsOf(definition, name);
    const own = edges.filter(({ from }) => from === name);
    if (own.length === 0 && (name === START || name === RESUME)) continue;
    const lines = own.map(({ to, label }, index) => {
      const branch = index === own.length - 1 ? '└─' : '├─';
      return `  ${branch}${label === '' ? '' : ` ${label} `}──▶ ${titleOf(to)}`;
    });
    const branches = block ? branchLines(block).map((line) => `  ║ ${line}`) : [];
    const needed = needs.length === 0 ? '' : `needs ${needs.join(', ')}`;
    const title = [titleOf(name), description, needed].filter((part) => part !== '').join('   ');
    paragraphs.push([title, ...branches, ...lines].join('\n'));
  }
  return `${paragraphs.join('\n\n')}\n`;
}

function branchLines(block: BlockDefinition): string[] {
  const branches = describeBranches(block);
  const shown = branches.slice(0, MAX_BRANCHES_NAMED);
  const width = Math.max(...shown.map(({ name }) => name.length));
  return foldBranches(
    branches.map(({ name, what }) => `${name.padEnd(width)}   ${what}`),
    MAX_BRANCHES_NAMED,
  );
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

/** Tells whether a name in a rule is reserved, and so is no role's. */
export function isReserved(name: string): boolean {
  return name === START || name === RESUME || name === END;
}

function renderMermaid(definition: WorkflowDefinition, edges: readonly Edge[]): string {
  // Names can contain syntax of Mermaid (`end`, dots), so nodes get numbers as ids, and names as labels.
  const ids = new Map([...namesIn(edges)].map((name, index) => [name, `n${index}`]));
  const nodes = [...ids].map(([name, id]) => `  ${id}${mermaidShape(name, shownBranches(definition, name))}`);
  const arrows = edges.map(({ from, to, label }) => {
    const text = label === '' ? '' : `|"${escapeMermaid(label)}"|`;
    return `  ${ids.get(from)} -->${text} ${ids.get(to)}`;
  });
  return `${['flowchart TD', ...nodes, ...arrows].join('\n')}\n`;
}

function namesIn(edges: readonly Edge[]): Set<string> {
  return new Set(edges.flatMap(({ from, to }) => [from, to]));
}

function mermaidShape(name: string, branches: readonly string[]): string {
  if (name === END) return '(((end)))';
  if (branches.length > 0) return `[["${[name, ...branches].map(escapeMermaid).join('<br/>')}"]]`;
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

function renderDot(definition: WorkflowDefinition, edges: readonly Edge[]): string {
  const nodes = [...namesIn(edges)].flatMap((node) => {
    const branches = shownBranches(definition, node);
    // The shape of a subroutine, a box with two lines at its sides.
    if (branches.length > 0)
      return [`  ${quoteDot(node)} [peripheries=2, label=${quoteDot([node, ...branches].join('\n'))}];`];
    if (!isReserved(node)) return [];
    const shape = node === END ? 'doublecircle' : 'circle';
    return [`  ${quoteDot(node)} [shape=${shape}, label=${quoteDot(titleOf(node))}];`];
  });
  const arrows = edges.map(({ from, to, label }) => {
    const text = label === '' ? '' : ` [label=${quoteDot(label)}]`;
    return `  ${quoteDot(from)} -> ${quoteDot(to)}${text};`;
  });
  return `${[`digraph ${quoteDot(definition.name)} {`, '  node [shape=box, style=rounded];', ...nodes, ...arrows, '}'].join('\n')}\n`;
}

function quoteDot(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

/** A branch of a block as people read it; an `each` is one. */
type DescribedBranch = {
  /** The key, or `each phase`. */
  name: string;
  /** `workflow review`, `role critic`, and how many run at once. */
  what: string;
};

/** In the order of the file. */
export function describeBranches({ branches = {}, each }: BlockDefinition): DescribedBranch[] {
  const fixed = Object.entries(branches).map(([name, branch]) => ({ name, what: describeTask(branch) }));
  if (each === undefined) return fixed;
  const atOnce = each.atOnce === undefined ? '' : `, ${each.atOnce} at once`;
  return [{ name: `each ${each.as}`, what: `${describeTask(each)}${atOnce}` }];
}

function describeTask({ workflow, role }: BranchDefinition): string {
  return workflow === undefined ? `role ${role}` : `workflow ${workflow}`;
}

/** `3 branches, join all, isolation worktree, merged in the order of their keys`. */
export function sayBlock(block: BlockDefinition): string {
  const { branches = {}, each, join, onFailure, isolation, merge } = block;
  const count = Object.keys(branches).length;
  return [
    each ? `a branch for each ${each.as}` : count === 1 ? '1 branch' : `${count} branches`,
    `join ${describeJoin(join)}`,
    ...(onFailure === 'cancel' ? ['cancels the rest on failure'] : []),
    ...(isolation ? [`isolation ${isolation}`] : []),
    ...(merge ? [`merged in the order of their ${merge.order}s`] : []),
  ].join(', ');
}

function describeJoin(join: JoinDefinition): string {
  return typeof join === 'object' ? `at least ${join.atLeast}` : join.replaceAll(/\s+/g, ' ').trim();
}

/** The first of many lines, and how many more there are. */
export function foldBranches(lines: readonly string[], most: number): string[] {
  // A single line more takes no more room than the line that would count it.
  if (lines.length <= most + 1) return [...lines];
  return [...lines.slice(0, most), `… and ${lines.length - most} more`];
}
