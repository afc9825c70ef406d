import type { Html } from '../html.ts';
import { formatUsage } from '../../agent/format-usage.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { ThreadView } from '../../engine/describe/describe.ts';
import { formatCount } from '../../format-time.ts';
import { readPath, type ThreadPath } from '../drawing/read-path.ts';
import { readRunningTurn } from '../live/running-turn.ts';
import { WorkflowGraph, type PathTaken } from './workflow-graph.tsx';
import { DataTable } from './labels.tsx';
import { PageLink } from './link.tsx';

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
