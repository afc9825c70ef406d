import { type Html, Page, PageLink } from '../parts/page.tsx';
import { formatUsage } from '../../agent/format-usage.ts';
import { plural } from '../../text/wording.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import { agentAtStart } from '../../thread/step-view.ts';
import { DAY_MS, utcDate } from '../../thread/thread-id.ts';
import { stateOf } from '../live/live.ts';
import { readRuns, RunsNote, UsageSums, UsageTable } from '../parts/runs.tsx';
import type { Visit } from '../site.ts';

const DEFAULT_DAYS = 30;
const periods = [7, 30, 90];

/** What the threads of a period used: by day, workflow, role and agent. */
export async function costPage({ site, url, nowMs }: Visit): Promise<Html> {
  const { repository } = site.engine;
  const since = dayOf(url.searchParams.get('since')) ?? utcDate(nowMs - (DEFAULT_DAYS - 1) * DAY_MS);
  const until = dayOf(url.searchParams.get('until')) ?? utcDate(nowMs);
  // Computed before the threads are read: a change in between is then told, and not missed.
  const state = await stateOf(site.engine, 'threads');
  const found = await readRuns(site.engine, {
    sinceMs: Date.parse(since),
    untilMs: Date.parse(until) + DAY_MS - 1,
  });
  const [days, workflows, roles, agents] = [new UsageSums(), new UsageSums(), new UsageSums(), new UsageSums()];
  let total: Usage | null = null;
  for (const { summary, facts } of found.runs) {
    if (facts === undefined) continue;
    total = addUsage(total, facts.usage);
    days.add(summary.startedAt.slice(0, 10), facts.usage);
    workflows.add(facts.workflow, facts.usage);
    const byAgent = new Map<string, Usage | null>();
    for (const [role, usage] of Object.entries(facts.usageByRole)) {
      roles.add(`${facts.workflow}: ${role}`, usage);
      // What cannot be read is listed as such.
      const named = await agentAtStart(repository, facts.startCommit, role).catch(() => undefined);
      const agent = named ?? 'not known';
      byAgent.set(agent, addUsage(byAgent.get(agent) ?? null, usage));
    }
    for (const [agent, usage] of byAgent) agents.add(agent, usage);
  }
  const tables = [
    { id: 'days', title: 'Day', heading: 'By day', rows: days.byName(), hrefOf: addressOfDay },
    { id: 'workflows', title: 'Workflow', heading: 'By workflow', rows: workflows.byCost(), hrefOf: addressOfWorkflow },
    { id: 'roles', title: 'Role', heading: 'By role', rows: roles.byCost() },
    { id: 'agents', title: 'Agent', heading: 'By agent', rows: agents.byCost() },
  ];
  return (
    <Page site={site} title="Cost" place="/cost" live={{ topic: 'threads', state }}>
      <h1>Cost</h1>
      <PeriodForm since={since} until={until} nowMs={nowMs} />
      <p>
        {plural(found.runs.length, 'thread')} began then. {total && `They used ${formatUsage(total)}.`}
      </p>
      <RunsNote runs={found} />
      {tables.map(
        ({ id, heading, ...table }) =>
          table.rows.length > 0 && (
            <section aria-labelledby={id}>
              <h2 id={id}>{heading}</h2>
              <UsageTable {...table} />
            </section>
          ),
      )}
      {total && (
        <p class="quiet">
          A thread counts for the day on which it began, and a role for the agent that it had then. Child threads count
          by themselves, and the steps that a fork shares count for both threads.
        </p>
      )}
    </Page>
  );
}

function PeriodForm({ since, until, nowMs }: { since: string; until: string; nowMs: number }): Html {
  return (
    <form class="filters" method="get" action="/cost">
      <label>
        From
        <input type="date" name="since" value={since} />
      </label>
      <label>
        Until
        <input type="date" name="until" value={until} />
      </label>
      <button type="submit">Show</button>
      <p class="periods">
        {periods.map((days) => (
          <PageLink href={`/cost?since=${utcDate(nowMs - (days - 1) * DAY_MS)}`}>{days} days</PageLink>
        ))}
      </p>
    </form>
  );
}

function addressOfDay(day: string): string {
  return `/?since=${day}&until=${day}`;
}

function addressOfWorkflow(name: string): string {
  return `/w/${encodeURIComponent(name)}`;
}

/** A day of an address, such as `2026-11-23`; `undefined` for anything else. */
function dayOf(text: string | null): string | undefined {
  return text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined;
}
