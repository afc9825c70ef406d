import { formatCount, formatDuration, plural } from '../../format-time.ts';
import { iso } from '../../iso.ts';
import { threadStatuses } from '../../thread/thread-status.ts';
import type { RegisteredWorkflow } from '../../workflow/registry/find-workflow.ts';
import type { Html } from '../html.ts';
import { MAX_RUNS, percentile, type Run, type Runs, tokensOf } from '../runs/read-runs.ts';
import { Ago, Status } from './labels.tsx';
import { dollars } from './usage-table.tsx';
import { PageLink } from './link.tsx';

/** So many runs are listed; the list of threads has the others. */
const LISTED_RUNS = 20;

/** What came of the runs of a workflow, how long they took and what they cost. */
export function RunsPanel({ runs, name, nowMs }: { runs: Runs; name: string; nowMs: number }): Html {
  const all = runs.runs;
  const counts = threadStatuses
    .map((status) => ({ status, count: all.filter(({ summary }) => summary.status === status).length }))
    .filter(({ count }) => count > 0);
  return (
    <section aria-labelledby="runs">
      <h2 id="runs">
        Runs <span class="count">{formatCount(all.length)}</span>
      </h2>
      {all.length === 0 && <p>No thread runs it.</p>}
      <RunsNote runs={runs} />
      {all.length > 0 && (
        <>
          <p class="facts">
            {counts.map(({ status, count }) => (
              <span>
                <Status status={status} /> {formatCount(count)}
              </span>
            ))}
          </p>
          <Spread runs={all} />
          <ul class="threads">
            {all.slice(0, LISTED_RUNS).map((run) => (
              <RunRow run={run} nowMs={nowMs} />
            ))}
          </ul>
          {all.length > LISTED_RUNS && (
            <p>
              <PageLink href={`/?${new URLSearchParams({ workflow: name }).toString()}`}>All of its threads</PageLink>
            </p>
          )}
        </>
      )}
    </section>
  );
}

type Measure = { title: string; values: number[]; format: (value: number) => string };

/** What is usual and what is rare, of the runs that are over. */
function Spread({ runs }: { runs: readonly Run[] }): Html | null {
  const over = runs.filter(({ summary }) => summary.endedAt !== null);
  const used = over.flatMap(({ facts }) => facts?.usage ?? []);
  const measures: Measure[] = [
    { title: 'Duration', values: over.flatMap((run) => durationMs(run) ?? []), format: formatDuration },
    { title: 'Steps', values: over.map(({ summary }) => summary.steps), format: formatCount },
    { title: 'Tokens', values: used.map((usage) => tokensOf({ usage })), format: formatCount },
    { title: 'Cost', values: used.flatMap(({ costUsd }) => costUsd ?? []), format: dollars },
  ];
  if (over.length === 0) return null;
  return (
    <table class="sums" tabindex={0}>
      <caption>
        Of {plural(over.length, 'run')} that {over.length === 1 ? 'is' : 'are'} over
      </caption>
      <thead>
        <tr>
          <td></td>
          <th scope="col" class="number">
            Median
          </th>
          <th scope="col" class="number">
            90th percentile
          </th>
        </tr>
      </thead>
      <tbody>
        {measures
          .filter(({ values }) => values.length > 0)
          .map(({ title, values, format }) => (
            <tr>
              <th scope="row">{title}</th>
              <td class="number">{format(percentile(values, 50) ?? 0)}</td>
              <td class="number">{format(percentile(values, 90) ?? 0)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

function RunRow({ run, nowMs }: { run: Run; nowMs: number }): Html {
  const { thread, status, prompt, steps, startedAt } = run.summary;
  const tookMs = durationMs(run);
  const cost = run.facts?.usage?.costUsd;
  return (
    <li>
      <PageLink class="task" href={`/t/${thread}`}>
        {prompt === '' ? thread : prompt}
      </PageLink>
      <p class="facts">
        <Status status={status} />
        <span>{plural(steps, 'step')}</span>
        {tookMs !== undefined && <span>{formatDuration(tookMs)}</span>}
        {cost !== undefined && <span>{dollars(cost)}</span>}
        <Ago at={startedAt} nowMs={nowMs} />
      </p>
    </li>
  );
}

/** How long a thread took, with what it waited; `undefined` while it is not over. */
function durationMs({ summary: { startedAt, endedAt } }: Run): number | undefined {
  return endedAt === null ? undefined : Date.parse(endedAt) - Date.parse(startedAt);
}

type VersionsProps = { versions: readonly RegisteredWorkflow[]; runs: Runs; nowMs: number };

/** The versions of a workflow that were registered, and those that threads run. */
export function VersionsTable({ versions, runs, nowMs }: VersionsProps): Html | null {
  const run = runs.runs.flatMap(({ facts }) => facts?.workflowHash ?? []);
  const hashes = new Set([...versions.map(({ hash }) => hash), ...run]);
  if (hashes.size === 0) return null;
  return (
    <section aria-labelledby="versions">
      <h2 id="versions">
        Versions <span class="count">{hashes.size}</span>
      </h2>
      <table class="sums" tabindex={0}>
        <thead>
          <tr>
            <th scope="col">Definition</th>
            <th scope="col">Registered</th>
            <th scope="col" class="number">
              Threads
            </th>
            <th scope="col">Newest</th>
          </tr>
        </thead>
        <tbody>
          {[...hashes].map((hash) => {
            const version = versions.find((each) => each.hash === hash);
            const own = runs.runs.filter(({ facts }) => facts?.workflowHash === hash);
            const newest = own[0]?.summary;
            return (
              <tr>
                <th scope="row">
                  <PageLink href={`/w/${hash}`}>{hash}</PageLink>
                </th>
                <td>{version ? <Ago at={iso(version.registeredAtMs)} nowMs={nowMs} /> : 'no'}</td>
                <td class="number">{formatCount(own.length)}</td>
                <td>
                  {newest && (
                    <PageLink href={`/t/${newest.thread}`}>
                      <Ago at={newest.startedAt} nowMs={nowMs} />
                    </PageLink>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

/** Says what a sum leaves out. */
export function RunsNote({ runs: { hasOlder, unread } }: { runs: Runs }): Html | null {
  if (!hasOlder && unread === 0) return null;
  return (
    <p class="quiet">
      {hasOlder && `Only the newest ${formatCount(MAX_RUNS)} threads are summed up. `}
      {unread > 0 && `Of ${plural(unread, 'thread')} the usage is not read yet: load the page again to read more.`}
    </p>
  );
}
