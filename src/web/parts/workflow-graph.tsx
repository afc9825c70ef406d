import { formatUsage } from '../../agent/format-usage.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { pinnedDefinition } from '../../engine/children/sub-workflow.ts';
import type { ThreadView } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { decisionContext } from '../../engine/turn/decide.ts';
import { formatCount, plural } from '../../text/wording.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { decide } from '../../moderator/decide.ts';
import { shorten } from '../../thread/commit-message.ts';
import { type LightCommit, readLightChain } from '../../thread/thread-chain.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import { readState } from '../../thread/thread-state.ts';
import { END, RESUME, START, type WorkflowDefinition } from '../../workflow/definition.ts';
import { type Edge, edgesOf, isReserved, shownBranches, titleOf } from '../../workflow/graph/render-graph.ts';
import type { DrawnLine, GraphDrawing } from '../drawing/compute-layout.ts';
import { layoutGraph } from '../drawing/layout-graph.ts';
import { textWidth } from './thread-timeline.tsx';
import { readRunningTurn } from '../live/running-turn.ts';
import { DataTable, type Html, PageLink } from './page.tsx';

/** The path that a thread took through its workflow. */
export type PathTaken = {
  /** How often each rule was followed, by its place in the definition. */
  rules: ReadonlyMap<number, number>;
  /** How often a person gave the turn to a role, in place of a rule. */
  forced: readonly { from: string; to: string; count: number }[];
  /** How many steps each role took. */
  visits: ReadonlyMap<string, number>;
  turn: { role: string; state: RoleState } | undefined;
};

type RoleState = 'at work' | 'waits' | 'next';

type GraphProps = {
  definition: WorkflowDefinition;
  /** Absent for a definition by itself. */
  path?: PathTaken | undefined;
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

type ThreadGraphProps = { engine: EngineContext; view: ThreadView };

/** The workflow of a thread with the path that the thread took, and what its roles did. */
export async function ThreadGraph({ engine, view }: ThreadGraphProps): Promise<Awaited<Html>> {
  const read = await readPath(engine, { id: view.thread, head: view.head });
  const { definition, rules, forced } = read;
  const visits = new Map([...read.visits].map(([role, { count }]) => [role, count]));
  const path: PathTaken = { rules, forced: [...forced.values()], visits, turn: turnOf(engine, view) };
  const hrefOf = (role: string): string => {
    const newest = read.visits.get(role)?.newest;
    return newest === undefined ? `#${idOf(role)}` : `/t/${view.thread}/${newest}`;
  };
  return (
    <section class="workflow" aria-labelledby="graph-title">
      <h2 id="graph-title">The path through {definition.name}</h2>
      <WorkflowGraph definition={definition} path={path} hrefOf={hrefOf} />
      <h2>Roles</h2>
      <RoleTable view={view} path={read} hrefOf={hrefOf} />
    </section>
  );
}

/** Whose turn it is. A person can have given it to another role than the rules do, which the journal knows. */
function turnOf({ repository }: EngineContext, view: ThreadView): PathTaken['turn'] {
  const { status, nextRole, suspension } = view;
  if (status === 'running') return turn(readRunningTurn(repository, view).turn?.role ?? nextRole, 'at work');
  return suspension === null ? turn(nextRole, 'next') : turn(suspension.role, 'waits');
}

function turn(role: string | null, state: NonNullable<PathTaken['turn']>['state']): PathTaken['turn'] {
  return role === null ? undefined : { role, state };
}

/** Where the row of a role is: fragments of addresses are compared as they are written. */
function idOf(role: string): string {
  return `role-${encodeURIComponent(role)}`;
}

type RoleTableProps = { view: ThreadView; path: ThreadPath; hrefOf: (role: string) => string };

function RoleTable({ view, path: { definition, visits }, hrefOf }: RoleTableProps): Html {
  const usages = new Map(Object.entries(view.usageByRole));
  return (
    <DataTable columns={['Role', 'Steps', 'Used', 'Job']}>
      {jobsOf(definition).map(([role, job]) => (
        <tr id={idOf(role)}>
          <th scope="row">{visits.has(role) ? <PageLink href={hrefOf(role)}>{role}</PageLink> : role}</th>
          <td class="number">{formatCount(visits.get(role)?.count ?? 0)}</td>
          <td>{formatUsage(usages.get(role) ?? null)}</td>
          <td>{job}</td>
        </tr>
      ))}
    </DataTable>
  );
}

/** Roles and blocks, each with the first line of what it does. */
function jobsOf({
  roles,
  blocks = {},
}: ThreadPath['definition']): (readonly [name: string, job: string | undefined])[] {
  return [
    ...Object.entries(roles).map(([role, { description }]) => [role, description.trim().split('\n', 1)[0]] as const),
    ...Object.keys(blocks).map((block) => [block, 'a block of branches'] as const),
  ];
}

/** The path of a thread through its workflow, up to a commit. */
type ThreadPath = {
  definition: WorkflowDefinition;
  rules: ReadonlyMap<number, number>;
  /** How often a person gave the turn to a role, in place of a rule; by both names as JSON. */
  forced: ReadonlyMap<string, { from: string; to: string; count: number }>;
  /** How many steps each role took, and the newest of them. */
  visits: ReadonlyMap<string, { count: number; newest: NodeHash }>;
  /** The node that the thread has reached: a role, or a reserved name. */
  place: string;
  /** The role whose turn was suspended there; the rule that led to it has been counted. */
  waiting: string | undefined;
};

type Kept = { head: ObjectId; start: ObjectId; workflow: NodeHash; path: ThreadPath };

/** The paths that were read last. Commits never change, so that only newer ones are read the next time. */
const known = new WeakMap<Repository, Map<ThreadId, Kept>>();
const MAX_KNOWN = 8;

/**
 * Reads the path of a thread from the rules that its commits name. Only how a thread ended is not recorded: where several
 * rules can have ended it, the decision is made again.
 */
async function readPath(engine: EngineContext, { id, head }: Pick<ThreadPointer, 'id' | 'head'>): Promise<ThreadPath> {
  const { repository } = engine;
  const paths = known.get(repository) ?? new Map<ThreadId, Kept>();
  known.set(repository, paths);
  const before = paths.get(id);
  const commits: Passed[] = [];
  let isKnown = false;
  let start = before?.start;
  let workflow = before?.workflow;
  for await (const commit of readLightChain(repository, head)) {
    isKnown = commit.id === before?.head;
    if (isKnown) break;
    const passed = passedAt(commit);
    if (passed !== undefined) commits.push(passed);
    if (commit.kind === 'start') [start, workflow] = [commit.id, commit.node.workflow];
  }
  if (start === undefined || workflow === undefined) throw new Error('a chain ends in its start');
  const definition = await pinnedDefinition(engine, { start: { id: start } }, workflow);
  const beginning = {
    definition,
    rules: new Map(),
    forced: new Map(),
    visits: new Map(),
    place: START,
    waiting: undefined,
  };
  const path = await goOn(engine, id, isKnown && before ? before.path : beginning, commits.toReversed());
  paths.delete(id);
  paths.set(id, { head, start, workflow, path });
  for (const oldest of paths.keys()) if (paths.size > MAX_KNOWN) paths.delete(oldest);
  return path;
}

/** What a path needs of a commit. */
type Passed =
  | { kind: 'step' | 'suspend'; role: string; rule: number | null; hash: NodeHash }
  | { kind: 'end'; isByRule: boolean; returnCode: number; parent: ObjectId | undefined }
  | { kind: 'resume' };

function passedAt({ kind, hash, node, commit }: LightCommit): Passed | undefined {
  // Which way the thread goes is undecided.
  if (kind === 'suspend' && node.cause === 'rule') return undefined;
  if (kind === 'step' || kind === 'suspend') return { kind, role: node.role, rule: node.rule, hash };
  if (kind === 'resume') return { kind };
  if (kind !== 'end') return undefined;
  return { kind, isByRule: node.outcome !== 'cancelled', returnCode: node.returnCode, parent: commit.parents[0] };
}

async function goOn(
  engine: EngineContext,
  id: ThreadId,
  from: ThreadPath,
  commits: readonly Passed[],
): Promise<ThreadPath> {
  const { definition } = from;
  const [rules, forced, visits] = [new Map(from.rules), new Map(from.forced), new Map(from.visits)];
  let { place, waiting } = from;
  const follow = (rule: number | null, to: string): void => {
    // A thread that was fetched can name a rule that its workflow does not have.
    if (rule !== null && definition.moderator[rule]?.to === to) rules.set(rule, (rules.get(rule) ?? 0) + 1);
    else {
      const key = JSON.stringify([place, to]);
      forced.set(key, { from: place, to, count: (forced.get(key)?.count ?? 0) + 1 });
    }
  };
  for (const passed of commits) {
    if (passed.kind === 'resume') {
      // The answer to a suspension leads nowhere else.
      if (place === END) place = RESUME;
      continue;
    }
    if (passed.kind === 'end') {
      const rule = passed.isByRule ? await ruleOfEnd(engine, id, definition, place, passed) : undefined;
      if (rule !== undefined) follow(rule, END);
      [place, waiting] = [END, undefined];
      continue;
    }
    const { kind, role, rule, hash } = passed;
    if (waiting !== role) follow(rule, role);
    if (kind === 'suspend') waiting = role;
    else {
      visits.set(role, { count: (visits.get(role)?.count ?? 0) + 1, newest: hash });
      [place, waiting] = [role, undefined];
    }
  }
  return { definition, rules, forced, visits, place, waiting };
}

/** The rule that ended a thread; `undefined` where none did. */
async function ruleOfEnd(
  { repository }: EngineContext,
  id: ThreadId,
  { name, moderator }: WorkflowDefinition,
  place: string,
  { returnCode, parent }: Extract<Passed, { kind: 'end' }>,
): Promise<number | undefined> {
  const candidates = moderator.flatMap((rule, index) => {
    return rule.from === place && rule.to === END && (rule.returnCode ?? 0) === returnCode ? [index] : [];
  });
  // A thread that could not go on has failed with 1, too.
  if (candidates.length === 0 || (candidates.length === 1 && returnCode !== 1)) return candidates[0];
  if (parent === undefined) return undefined;
  const decision = await decide(moderator, decisionContext(repository, await readState(repository, id, parent), name));
  if (decision.kind === 'end' && candidates.includes(decision.rule)) return decision.rule;
  return candidates.find((index) => moderator[index]?.on === 'limit');
}
