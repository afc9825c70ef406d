import { Ago, type Html, Page, PageLink, Reason, Status, WorkflowLink } from '../parts/page.tsx';
import type { EngineContext } from '../../engine/engine-context.ts';
import { listThreads, summaryOf, type ListOptions } from '../../engine/describe/list-threads.ts';
import type { ThreadSummary } from '../../engine/describe/read-listed.ts';
import { formatCount, plural } from '../../text/wording.ts';
import { findRunning } from '../../engine/leases/find-lease.ts';
import { findThread } from '../../thread/find-thread.ts';
import { DAY_MS, isThreadId } from '../../thread/thread-id.ts';
import { threadStatuses } from '../../thread/thread-state.ts';
import { stateOf } from '../live/live.ts';
import type { Visit } from '../site.ts';

const PAGE_THREADS = 50;

/** The list of threads, with the filters of its address. */
export async function threadsPage({ site, url, nowMs }: Visit): Promise<Html> {
  const filters = filtersOf(url.searchParams);
  // Computed before the list is read: a change in between is then told, and not missed.
  const state = await stateOf(site.engine, 'threads');
  const isFiltered = Object.values(filters).some((value) => value !== '');
  const listed = await listThreads(site.engine, { ...optionsOf(filters), limit: PAGE_THREADS });
  const last = listed.length === PAGE_THREADS ? listed.at(-1) : undefined;
  // What waits or runs may have begun long ago.
  const { threads: found, isRead } = isFiltered ? { threads: [], isRead: true } : await site.waiting.now();
  const [waiting, interrupted] = [found.filter(isWaiting), found.filter(isInterrupted)];
  const running = isFiltered ? [] : await runningThreads(site.engine);
  const shown = [...waiting.slice(0, PAGE_THREADS), ...interrupted.slice(0, PAGE_THREADS), ...running, ...listed];
  const threads = [...new Map(shown.map((each) => [each.thread, each])).values()];
  return (
    <Page site={site} title="Threads" place="/" live={{ topic: 'threads', state: isRead ? state : '' }}>
      <h1>Threads</h1>
      <FilterForm filters={filters} />
      {!isRead && <p class="quiet">Looking for older threads that wait for you …</p>}
      {waiting.length > PAGE_THREADS && (
        <p>
          <PageLink href="/?status=suspended">{formatCount(waiting.length)} threads wait for you</PageLink>
        </p>
      )}
      {interrupted.length > PAGE_THREADS && (
        <p>
          <PageLink href="/?status=interrupted">{formatCount(interrupted.length)} threads were interrupted</PageLink>
        </p>
      )}
      {threads.length === 0 && <NoThreads isFiltered={isFiltered} />}
      {groups.map(({ title, isIn }) => (
        <Group title={title} threads={threads.filter(isIn)} nowMs={nowMs} />
      ))}
      {last && (
        <p>
          <PageLink href={addressOf({ ...filters, after: last.thread })}>Older threads</PageLink>
        </p>
      )}
    </Page>
  );
}

async function runningThreads(engine: EngineContext): Promise<ThreadSummary[]> {
  const pointers = await Promise.all(findRunning(engine.repository).map((id) => findThread(engine.repository, id)));
  return Promise.all(pointers.flatMap((pointer) => (pointer === undefined ? [] : summaryOf(engine, pointer))));
}

/** The inbox counts these alone: an interrupted thread asks nothing. */
const isWaiting = ({ status }: ThreadSummary): boolean => status === 'suspended';
const isInterrupted = ({ status }: ThreadSummary): boolean => status === 'interrupted';
const isRunning = ({ status }: ThreadSummary): boolean => status === 'running';

const groups = [
  { title: 'Waiting for you', isIn: isWaiting },
  { title: 'Interrupted', isIn: isInterrupted },
  { title: 'Running', isIn: isRunning },
  {
    title: 'Others',
    isIn: (thread: ThreadSummary) => ![isWaiting, isInterrupted, isRunning].some((isIn) => isIn(thread)),
  },
];

type GroupProps = { title: string; threads: ThreadSummary[]; nowMs: number };

function Group({ title, threads, nowMs }: GroupProps): Html | null {
  if (threads.length === 0) return null;
  const id = title.toLowerCase().replaceAll(' ', '-');
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {title} <span class="count">{threads.length}</span>
      </h2>
      <ul class="threads">
        {threads.map((thread) => (
          <ThreadItem thread={thread} nowMs={nowMs} />
        ))}
      </ul>
    </section>
  );
}

export function ThreadItem({ thread, nowMs }: { thread: ThreadSummary; nowMs: number }): Html {
  const { thread: id, status, workflow, steps, nextRole, prompt, startedAt } = thread;
  const reason = thread.summary ?? thread.reason;
  return (
    <li id={id} data-status={status} data-head={thread.head}>
      <PageLink class="task" href={`/t/${id}`}>
        {prompt === '' ? id : prompt}
      </PageLink>
      <p class="facts">
        <Status status={status} />
        <WorkflowLink name={workflow} />
        <span>{plural(steps, 'step')}</span>
        {nextRole && <span>next: {nextRole}</span>}
        <Ago at={startedAt} nowMs={nowMs} />
      </p>
      {reason && <Reason text={reason} />}
    </li>
  );
}

function NoThreads({ isFiltered }: { isFiltered: boolean }): Html {
  if (isFiltered) return <p>No thread is like that.</p>;
  return (
    <p>
      There is no thread yet. <code>uwf run &lt;workflow&gt; -p &lt;task&gt;</code> starts one.
    </p>
  );
}

const filterNames = ['status', 'workflow', 'role', 'text', 'since', 'until', 'after'] as const;
type Filters = Readonly<Record<(typeof filterNames)[number], string>>;

function filtersOf(query: URLSearchParams): Filters {
  const valueOf = (name: string): string => query.get(name)?.trim() ?? '';
  const [status, workflow, role, text] = [valueOf('status'), valueOf('workflow'), valueOf('role'), valueOf('text')];
  return { status, workflow, role, text, since: valueOf('since'), until: valueOf('until'), after: valueOf('after') };
}

function optionsOf({ status, workflow, role, text, since, until, after }: Filters): ListOptions {
  const chosen = threadStatuses.filter((each) => each === status);
  return {
    statuses: chosen.length > 0 ? chosen : threadStatuses,
    workflow: workflow || undefined,
    role: role || undefined,
    text: text || undefined,
    sinceMs: timeOfDay(since, 0),
    untilMs: timeOfDay(until, DAY_MS - 1),
    cursor: isThreadId(after) ? after : undefined,
  };
}

/** A moment of a day such as `2026-11-23`, in ms since 1970 (UTC). */
function timeOfDay(day: string, offsetMs: number): number | undefined {
  const timeMs = Date.parse(day);
  return Number.isNaN(timeMs) ? undefined : timeMs + offsetMs;
}

function addressOf(filters: Filters): string {
  return `/?${new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== '')).toString()}`;
}

function FilterForm({ filters }: { filters: Filters }): Html {
  return (
    <form class="filters" method="get" action="/" role="search">
      <label>
        Text
        <input type="search" name="text" value={filters.text} />
      </label>
      <label>
        Status
        <select name="status">
          <option value="">any</option>
          {threadStatuses.map((status) => (
            <option value={status} selected={status === filters.status}>
              {status}
            </option>
          ))}
        </select>
      </label>
      <label>
        Workflow
        <input name="workflow" value={filters.workflow} />
      </label>
      <label>
        Role
        <input name="role" value={filters.role} />
      </label>
      <label>
        From
        <input type="date" name="since" value={filters.since} />
      </label>
      <label>
        Until
        <input type="date" name="until" value={filters.until} />
      </label>
      <button type="submit">Filter</button>
    </form>
  );
}
