import { shorten } from '../../thread/commit-message.ts';
import type { Html } from '../html.ts';
import { formatCount, plural } from '../../format-time.ts';
import { START, END, type WorkflowDefinition } from '../../workflow/definition.ts';
import { shownBranches, edgesOf, isReserved, titleOf, type Edge } from '../../workflow/graph/render-graph.ts';
import type { DrawnLine, GraphDrawing } from '../drawing/compute-layout.ts';
import { layoutGraph } from '../drawing/layout-graph.ts';
import { textWidth } from '../drawing/layout-timeline.ts';
import { DataTable } from './labels.tsx';
import { PageLink } from './link.tsx';

/** The path that a thread took through its workflow. */
export type PathTaken = {
  /** How often each rule was followed, by its place in the definition. */
  rules: ReadonlyMap<number, number>;
  /** How often a person gave the turn to a role, in place of a rule. */
  forced: readonly { from: string; to: string; count: number }[];
  /** How many steps each role took. */
  visits: ReadonlyMap<string, number>;
  /** The role whose turn it is. */
  turn: { role: string; state: RoleState } | undefined;
};

/** What a role is doing whose turn it is. */
export type RoleState = 'at work' | 'waits' | 'next';

type GraphProps = {
  definition: WorkflowDefinition;
  /** Absent for a definition by itself. */
  path?: PathTaken | undefined;
  /** Where a role leads. */
  hrefOf: (role: string) => string;
};

/** Longer names and conditions are cut in the picture. */
const MAX_LETTERS = 28;
const MIN_WIDTH = 56;
/** Room for `1,234 steps, at work`. */
const MIN_WIDTH_OF_RUN = 150;
const HEIGHT = 34;
const HEIGHT_OF_RUN = 50;
const LABEL_PADDING = 12;

/**
 * A workflow as a graph: its roles, where rules lead, and of a run the path that was taken. The same stands in a table, which
 * is alone where the graph is too large to be drawn.
 */
export async function WorkflowGraph({ definition, path, hrefOf }: GraphProps): Promise<Awaited<Html>> {
  const edges = withCounts(definition, path);
  const places = [...Object.keys(definition.roles), ...Object.keys(definition.blocks ?? {})];
  const names = new Set([START, ...places, ...edges.flatMap(({ from, to }) => [from, to]), END]);
  const nodes = [...names].map((name) => ({ name, ...sizeOf(name, stateText(definition, name, path)) }));
  const drawing = await layoutGraph(
    nodes,
    edges.map(({ from, to, ...edge }) => ({ from, to, labelWidth: labelWidth(edge) })),
  );
  const table = <RuleTable edges={edges} hasCounts={path !== undefined} hrefOf={hrefOf} />;
  if (drawing === undefined) {
    return (
      <>
        <p class="quiet">This workflow has too many roles and rules for a picture.</p>
        {table}
      </>
    );
  }
  return (
    <>
      <Picture definition={definition} drawing={drawing} edges={edges} path={path} hrefOf={hrefOf} />
      <details class="as-table">
        <summary>The rules as a table</summary>
        {table}
      </details>
    </>
  );
}

/** An edge of the definition, or one that a person made; `count` is undefined without a run. */
type Counted = Edge & { count: number | undefined; isForced: boolean };

function withCounts(definition: WorkflowDefinition, path: PathTaken | undefined): Counted[] {
  const byRule = edgesOf(definition).map((edge, rule) => {
    return { ...edge, count: path && (path.rules.get(rule) ?? 0), isForced: false };
  });
  const forced = path?.forced.map((edge) => ({ ...edge, label: 'by a person', isForced: true })) ?? [];
  return [...byRule, ...forced];
}

/** The condition and the count, as they stand on a line. */
function labelOf({ label, count = 0 }: Omit<Counted, 'from' | 'to'>): string {
  const condition = shorten(label, MAX_LETTERS);
  return [condition, ...(count > 0 ? [`${formatCount(count)}×`] : [])].filter((part) => part !== '').join(' · ');
}

/** A run leaves room for counts, so that the picture stays as it is while they grow. */
function labelWidth({ count, ...edge }: Omit<Counted, 'from' | 'to'>): number | undefined {
  const text = labelOf({ ...edge, count: count === undefined ? undefined : Math.max(count, 10) });
  return text === '' ? undefined : textWidth(text, 12) + LABEL_PADDING;
}

function sizeOf(name: string, state: string): { width: number; height: number } {
  const title = textWidth(shorten(titleOf(name), MAX_LETTERS), 14);
  if (state === '' || isReserved(name)) return { width: Math.max(MIN_WIDTH, title + 24), height: HEIGHT };
  return { width: Math.max(MIN_WIDTH_OF_RUN, title + 24), height: HEIGHT_OF_RUN };
}

/** What stands below a name: `3 steps, at work`; without a run, the branches of a block. */
function stateText(definition: WorkflowDefinition, name: string, path: PathTaken | undefined): string {
  if (path === undefined) return shorten(shownBranches(definition, name).join(', '), MAX_LETTERS);
  const turn = path.turn?.role === name ? [path.turn.state] : [];
  return [plural(path.visits.get(name) ?? 0, 'step'), ...turn].join(', ');
}

type PictureProps = GraphProps & { drawing: GraphDrawing; edges: readonly Counted[] };

function Picture({ definition, drawing, edges, path, hrefOf }: PictureProps): Html {
  const { width, height, nodes, lines } = drawing;
  const descriptions = new Map(Object.entries(definition.roles).map(([name, role]) => [name, role.description.trim()]));
  return (
    <div class="drawing">
      <svg
        class={path === undefined ? 'graph' : 'graph of-run'}
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label={`Graph of the workflow ${definition.name}`}
      >
        {lines.map((line) => (
          <Line line={line} edges={edges} />
        ))}
        {nodes.map((node) => {
          const { name, x, y } = node;
          const box = { x: x - node.width / 2, y: y - node.height / 2, width: node.width, height: node.height };
          if (isReserved(name)) {
            return (
              <g class="place">
                <rect {...box} rx={node.height / 2} />
                <text x={x} y={y + 5} text-anchor="middle">
                  {titleOf(name)}
                </text>
              </g>
            );
          }
          const state = stateText(definition, name, path);
          const description = descriptions.get(name) ?? '';
          return (
            <PageLink href={hrefOf(name)} class={classOf(name, path)}>
              <title>
                {[name, description, ...shownBranches(definition, name), ...(path ? [state] : [])]
                  .filter((part) => part !== '')
                  .join('\n')}
              </title>
              <rect {...box} rx={8} />
              <text class="name" x={x} y={state === '' ? y + 5 : y - 3} text-anchor="middle">
                {shorten(name, MAX_LETTERS)}
              </text>
              {state !== '' && (
                <text class="state" x={x} y={y + 15} text-anchor="middle">
                  {state}
                </text>
              )}
            </PageLink>
          );
        })}
      </svg>
    </div>
  );
}

function classOf(name: string, path: PathTaken | undefined): string {
  const turn = path?.turn?.role === name ? path.turn.state.replace(' ', '-') : undefined;
  return ['role', ...(path?.visits.has(name) ? ['visited'] : []), ...(turn === undefined ? [] : [turn])].join(' ');
}

function Line({ line, edges }: { line: DrawnLine; edges: readonly Counted[] }): Html {
  const own = line.edges.flatMap((index) => edges[index] ?? []);
  const isTaken = own.some(({ count = 0 }) => count > 0);
  const isForced = own.every((edge) => edge.isForced);
  return (
    <g class={['line', ...(isTaken ? ['taken'] : []), ...(isForced ? ['forced'] : [])].join(' ')}>
      <title>{own.map(sentenceOf).join('\n')}</title>
      <path d={line.path} />
      <polygon points={line.head} />
      {line.labels.map(({ edge, x, y }) => {
        const text = edges[edge] === undefined ? '' : labelOf(edges[edge]);
        if (text === '') return null;
        const width = textWidth(text, 12) + LABEL_PADDING / 2;
        return (
          <g class={(edges[edge]?.count ?? 0) > 0 ? 'label taken' : 'label'}>
            <rect x={x - width / 2} y={y - 9} width={width} height={18} />
            <text x={x} y={y + 4} text-anchor="middle">
              {text}
            </text>
          </g>
        );
      })}
    </g>
  );
}

/** `reviewer to writer: rejected (3 times)`. */
function sentenceOf({ from, to, label, count }: Counted): string {
  const often = count === undefined ? '' : ` (${plural(count, 'time')})`;
  return `${titleOf(from)} to ${titleOf(to)}${label === '' ? '' : `: ${label}`}${often}`;
}

type RuleTableProps = Pick<GraphProps, 'hrefOf'> & { edges: readonly Counted[]; hasCounts: boolean };

function RuleTable({ edges, hasCounts, hrefOf }: RuleTableProps): Html {
  const nameOf = (name: string): Html | string =>
    isReserved(name) ? titleOf(name) : <PageLink href={hrefOf(name)}>{name}</PageLink>;
  return (
    <DataTable columns={['From', 'To', 'When', ...(hasCounts ? ['Followed'] : [])]}>
      {edges.map(({ from, to, label, count = 0 }) => (
        <tr>
          <td>{nameOf(from)}</td>
          <td>{nameOf(to)}</td>
          <td>{label === '' ? 'always' : label}</td>
          {hasCounts && <td class="number">{plural(count, 'time')}</td>}
        </tr>
      ))}
    </DataTable>
  );
}
