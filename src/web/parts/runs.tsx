import type { NodeHash } from '../../cas/hash.ts';
import { type ThreadUsage, usageOf } from '../../engine/describe/describe.ts';
import { eachThread, type ListOptions } from '../../engine/describe/list-threads.ts';
import type { ThreadSummary } from '../../engine/describe/read-listed.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { formatCount, formatDuration, plural } from '../../text/wording.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { iso } from '../../time/clock.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import { readPlace, threadStatuses } from '../../thread/thread-state.ts';
import type { RegisteredWorkflow } from '../../workflow/registry/find-workflow.ts';
import { Ago, type Html, PageLink, Status } from './page.tsx';

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
    <SumsTable
      caption={`Of ${plural(over.length, 'run')} that ${over.length === 1 ? 'is' : 'are'} over`}
      columns={['', { number: 'Median' }, { number: '90th percentile' }]}
    >
      {measures
        .filter(({ values }) => values.length > 0)
        .map(({ title, values, format }) => (
          <tr>
            <th scope="row">{title}</th>
            <td class="number">{format(percentile(values, 50) ?? 0)}</td>
            <td class="number">{format(percentile(values, 90) ?? 0)}</td>
          </tr>
        ))}
    </SumsTable>
  );
}

type SumsTableProps = { caption?: string; columns: readonly (string | { number: string })[]; children?: unknown };

/** A table whose first column names the rows. A column without a title has no heading. */
function SumsTable({ caption, columns, children }: SumsTableProps): Html {
  return (
    <table class="sums" tabindex={0}>
      {caption !== undefined && <caption>{caption}</caption>}
      <thead>
        <tr>
          {columns.map((column) => {
            if (column === '') return <td></td>;
            const [title, style] = typeof column === 'string' ? [column] : [column.number, 'number'];
            return (
              <th scope="col" class={style}>
                {title}
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody>{children}</tbody>
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
      <SumsTable columns={['Definition', 'Registered', { number: 'Threads' }, 'Newest']}>
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
      </SumsTable>
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

type UsageTableProps = {
  /** What a row is. */
  title: string;
  rows: readonly UsageRow[];
  hrefOf?: (name: string) => string;
};

/** What was used, by a name: counts, and a bar that compares the rows by cost, or by tokens where no cost is known. */
export function UsageTable({ title, rows, hrefOf }: UsageTableProps): Html {
  const measure = rows.some((row) => costOf(row) > 0) ? costOf : tokensOf;
  const most = Math.max(...rows.map(measure), Number.MIN_VALUE);
  return (
    <SumsTable columns={[title, ...['Threads', 'Tokens in', 'out', 'Cost'].map((number) => ({ number })), '']}>
      {rows.map((row) => (
        <tr>
          <th scope="row">{hrefOf ? <PageLink href={hrefOf(row.name)}>{row.name}</PageLink> : row.name}</th>
          <td class="number">{formatCount(row.threads)}</td>
          <td class="number">{row.usage ? formatCount(row.usage.inputTokens) : '–'}</td>
          <td class="number">{row.usage ? formatCount(row.usage.outputTokens) : '–'}</td>
          <td class="number">{costText(row)}</td>
          <td class="share">
            <Bar share={measure(row) / most} />
          </td>
        </tr>
      ))}
    </SumsTable>
  );
}

/** The numbers beside it say the same. */
function Bar({ share }: { share: number }): Html {
  return (
    <svg class="bar-of" width="100%" height="10" aria-hidden="true" focusable="false">
      <rect width={`${(share * 100).toFixed(1)}%`} height="10" rx="2" />
    </svg>
  );
}

/** `$1.2345`, with a mark where not all of it is known. */
function costText({ usage }: UsageRow): string {
  if (usage?.costUsd === undefined) return '–';
  return `${usage.isAtLeast ? '≥ ' : ''}${dollars(usage.costUsd)}`;
}

function dollars(amount: number): string {
  return `$${amount.toFixed(amount < 1 ? 4 : 2)}`;
}

type RunFacts = ThreadUsage & { workflow: string; workflowHash: NodeHash; startCommit: ObjectId };

/** A thread with what it used; `facts` is absent where it cannot be read. */
type Run = { summary: ThreadSummary; facts: RunFacts | undefined };

export type Runs = {
  runs: Run[];
  hasOlder: boolean;
  /** How many of them have no facts. */
  unread: number;
};

/** So many threads are summed up. */
export const MAX_RUNS = 1_000;

/** Reads the newest threads of a kind with what they used, which their heads tell. */
export async function readRuns(engine: EngineContext, wanted: ListOptions): Promise<Runs> {
  const runs: Run[] = [];
  let hasOlder = false;
  for await (const summary of eachThread(engine, { ...wanted, statuses: threadStatuses })) {
    if (runs.length === MAX_RUNS) {
      hasOlder = true;
      break;
    }
    // What cannot be read is listed as such.
    runs.push({ summary, facts: await readFacts(engine, summary).catch(() => undefined) });
  }
  return { runs, hasOlder, unread: runs.filter(({ facts }) => facts === undefined).length };
}

async function readFacts({ repository }: EngineContext, summary: ThreadSummary): Promise<RunFacts | undefined> {
  const { head, workflow } = summary;
  if (head === null) return undefined;
  const { start, tally } = await readPlace(repository, head);
  return { ...usageOf(tally), workflow, workflowHash: start.node.workflow, startCommit: start.id };
}

type UsageRow = { name: string; threads: number; usage: Usage | null };

/** Adds up what threads used, by names such as days or roles. */
export class UsageSums {
  readonly #rows = new Map<string, UsageRow>();

  /** Adds a thread, or a part of it; a thread is counted once for each name that it is added to. */
  add(name: string, usage: Usage | null | undefined): void {
    const row = this.#rows.get(name) ?? { name, threads: 0, usage: null };
    this.#rows.set(name, { name, threads: row.threads + 1, usage: addUsage(row.usage, usage) });
  }

  /** What cost most first; of equal cost what used most. */
  byCost(): UsageRow[] {
    return [...this.#rows.values()].toSorted((a, b) => costOf(b) - costOf(a) || tokensOf(b) - tokensOf(a));
  }

  /** The last name first. */
  byName(): UsageRow[] {
    return [...this.#rows.values()].toSorted((a, b) => (a.name < b.name ? 1 : -1));
  }
}

/** In US dollars; 0 where it is not known. */
function costOf({ usage }: Pick<UsageRow, 'usage'>): number {
  return usage?.costUsd ?? 0;
}

/** In and out together. */
function tokensOf({ usage }: Pick<UsageRow, 'usage'>): number {
  return usage === null ? 0 : usage.inputTokens + usage.outputTokens;
}

/** The value that so many of a hundred are not above; `undefined` of none. */
function percentile(values: readonly number[], percent: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil((percent / 100) * sorted.length) - 1, 0)];
}
