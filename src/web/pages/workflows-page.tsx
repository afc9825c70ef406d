import { relative } from 'node:path';
import type { Html } from '../html.ts';
import { listThreads } from '../../engine/describe/list-threads.ts';
import { formatCount, plural } from '../../format-time.ts';
import { threadStatuses } from '../../thread/thread-status.ts';
import { listWorkflowFiles } from '../../workflow/load/resolve-workflow.ts';
import { listWorkflows } from '../../workflow/registry/find-workflow.ts';
import { stateOf } from '../live/topics.ts';
import { Ago } from '../parts/labels.tsx';
import { Page } from '../parts/layout.tsx';
import { MAX_RUNS } from '../runs/read-runs.ts';
import type { Visit } from '../site.ts';
import { PageLink } from '../parts/link.tsx';

type Row = { from: string[]; description: string; threads: number; newest: string | undefined };

/** The workflows of the repository: files, registered ones, and those that threads run. */
export async function workflowsPage({ site, nowMs }: Visit): Promise<Html> {
  const { engine } = site;
  const state = await stateOf(engine, 'threads');
  const rows = new Map<string, Row>();
  const rowOf = (name: string): Row => {
    const row = rows.get(name) ?? { from: [], description: '', threads: 0, newest: undefined };
    rows.set(name, row);
    return row;
  };
  for (const { name, file } of await listWorkflowFiles(engine.repository, engine.cwd)) {
    rowOf(name).from.push(relative(engine.cwd, file));
  }
  const { workflows, unreadable } = await listWorkflows(engine.repository);
  for (const { name, description } of workflows) Object.assign(rowOf(name), { description }).from.push('registered');
  for (const { name, problem } of unreadable) rowOf(name).from.push(problem.message);
  const threads = await listThreads(engine, { statuses: threadStatuses, limit: MAX_RUNS });
  for (const { workflow, startedAt } of threads) {
    if (workflow === '') continue;
    const row = rowOf(workflow);
    row.threads += 1;
    row.newest ??= startedAt;
  }
  const shown = [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return (
    <Page site={site} title="Workflows" place="/w" live={{ topic: 'threads', state }}>
      <h1>Workflows</h1>
      {shown.length === 0 && (
        <p>
          There is no workflow yet. <code>uwf init --with find-regression</code> brings one that works as it is.
        </p>
      )}
      <ul class="threads">
        {shown.map(([name, { from, description, threads: count, newest }]) => (
          <li>
            <PageLink class="task" href={`/w/${encodeURIComponent(name)}`}>
              {name}
            </PageLink>
            {description !== '' && <p class="reason">{description}</p>}
            <p class="facts">
              {from.map((place) => (
                <span>{place}</span>
              ))}
              <span>{plural(count, 'thread')}</span>
              {newest && (
                <span>
                  newest <Ago at={newest} nowMs={nowMs} />
                </span>
              )}
            </p>
          </li>
        ))}
      </ul>
      {threads.length === MAX_RUNS && <p class="quiet">Of threads the newest {formatCount(MAX_RUNS)} are counted.</p>}
    </Page>
  );
}
