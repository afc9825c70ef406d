import {
  Ago,
  By,
  CalledBy,
  type Html,
  Page,
  PageLink,
  Reason,
  Status,
  viewAsked,
  ViewTabs,
  WorkflowLink,
} from '../parts/page.tsx';
import { formatUsage } from '../../agent/format-usage.ts';
import { describeThread, foldChildren, ownKey, type ThreadView } from '../../engine/describe/describe.ts';
import { plural } from '../../text/wording.ts';
import type { Repository } from '../../git/repository.ts';
import { findThread, getThread } from '../../thread/find-thread.ts';
import { parseThreadId, type ThreadId, type ThreadPointer } from '../../thread/thread-id.ts';
import { findStart } from '../../thread/thread-chain.ts';
import { stateOf } from '../live/live.ts';
import { type KnownClaim, readClaimsHere } from '../../sync/claims.ts';
import { isOver } from '../../thread/thread-state.ts';
import { commitToReadFrom, Story, STORY_STEPS } from '../parts/story.tsx';
import { ThreadGraph } from '../parts/workflow-graph.tsx';
import { ThreadTimeline } from '../parts/thread-timeline.tsx';
import type { TypedAnswer } from '../questions/read-question.ts';
import type { Visit } from '../site.ts';

/** A thread in one of its views: its story, when its roles worked, or its path; `again`: an answer that was not taken. */
export async function threadPage(visit: Visit, id: string, again?: TypedAnswer): Promise<Html> {
  const { site, url, nowMs } = visit;
  const pointer = await getThread(site.engine.repository, id);
  // Computed before the thread is read: a change in between is then told, and not missed.
  const state = await stateOf(site.engine, pointer.id);
  const view = await describeThread(site.engine, pointer.id);
  const shown = viewAsked(url);
  const before = shown === 'graph' ? undefined : Math.trunc(Number(url.searchParams.get('before'))) || undefined;
  const title = view.prompt === '' ? view.thread : view.prompt;
  const from = await commitToReadFrom(site.engine.repository, { id: pointer.id, head: view.head }, before);
  const isOpen = !isOver(view.status);
  const claim = isOpen ? (await readClaimsHere(site.engine.repository, pointer.id)).get(pointer.id) : undefined;
  const parts = { visit, view, before, from, again };
  return (
    <Page
      site={site}
      title={title}
      live={before === undefined && again === undefined ? { topic: pointer.id, state } : undefined}
    >
      <h1>{title}</h1>
      <Facts view={view} claim={claim} nowMs={nowMs} />
      <ForkLinks thread={pointer.id} origin={await findForkOrigin(site.engine.repository, pointer)} />
      <ViewTabs thread={view.thread} current={shown} />
      {shown === 'story' && <Story {...parts} />}
      {shown === 'timeline' && <ThreadTimeline {...parts} limit={STORY_STEPS} />}
      {shown === 'graph' && <ThreadGraph engine={site.engine} view={view} />}
    </Page>
  );
}

/** Finds the thread that another is a fork of: a fork shares its start. `undefined` also where one of them cannot be read. */
async function findForkOrigin(repository: Repository, { id, head }: ThreadPointer): Promise<ThreadId | undefined> {
  const start = await findStart(repository, head);
  if (start === undefined || start.node.id === id) return undefined;
  return (await findThread(repository, parseThreadId(start.node.id)))?.id;
}

/** Of what a thread is a fork, and how both differ. */
function ForkLinks({ thread, origin }: { thread: string; origin: string | undefined }): Html | null {
  if (origin === undefined) return null;
  return (
    <p class="facts">
      <span>
        a fork of <PageLink href={`/t/${origin}`}>{origin}</PageLink>
      </span>
      <PageLink href={`/diff/${origin}..${thread}`}>how they differ</PageLink>
    </p>
  );
}

const MAX_CHILDREN = 100;

type FactsProps = { view: ThreadView; claim: KnownClaim | undefined; nowMs: number };

function Facts({ view, claim, nowMs }: FactsProps): Html {
  const { status, workflow, steps, nextRole, parent, branch, calls, usage, startedAt, endedAt, reason } = view;
  const children = foldChildren(calls, MAX_CHILDREN);
  return (
    <div class="thread-facts">
      <p class="facts">
        <Status status={status} />
        <WorkflowLink name={workflow} />
        <span>{plural(steps, 'step')}</span>
        {nextRole && <span>next: {nextRole}</span>}
        <span>
          started <Ago at={startedAt} nowMs={nowMs} />
        </span>
        {endedAt && (
          <span>
            ended <Ago at={endedAt} nowMs={nowMs} />
            {view.cancelledBy && (
              <>
                {' '}
                by <By person={view.cancelledBy} />
              </>
            )}
          </span>
        )}
        {claim && <Claimed claim={claim} nowMs={nowMs} />}
        {usage && <span>{formatUsage(usage)}</span>}
      </p>
      {reason && status !== 'suspended' && <Reason text={view.summary ?? reason} />}
      {parent && <CalledBy parent={parent} branch={branch} />}
      {calls.length > 0 && (
        <details>
          <summary>{plural(calls.length, 'child thread')}</summary>
          <ul class="children">
            {children.shown.map((child) => (
              <li>
                <PageLink href={`/t/${child.thread}`}>{child.thread}</PageLink> <Status status={child.status} />{' '}
                {child.role} {ownKey(child.key)}
              </li>
            ))}
          </ul>
          {children.rest !== '' && (
            <p class="quiet">
              … and {children.rest}; <code>uwf thread show {view.thread} --json=calls</code> has all
            </p>
          )}
        </details>
      )}
    </div>
  );
}

/** Which worker of a remote had a thread when it was last fetched, or who had stopped the work on it. */
function Claimed({ claim, nowMs }: { claim: KnownClaim; nowMs: number }): Html {
  const { remote, worker, host, stoppedBy, seenAt } = claim;
  return (
    <span>
      {stoppedBy === null ? `claimed by ${worker} on ${host}, at ${remote}` : `stopped at ${remote} by ${stoppedBy}`}
      {seenAt !== null && (
        <>
          , seen <Ago at={seenAt} nowMs={nowMs} />
        </>
      )}
    </span>
  );
}
