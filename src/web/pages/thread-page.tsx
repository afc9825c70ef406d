import type { Html } from '../html.ts';
import { formatUsage } from '../../agent/format-usage.ts';
import { describeThread, type ThreadView } from '../../engine/describe/describe.ts';
import { plural } from '../../format-time.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { getThread } from '../../thread/find/find-thread.ts';
import { readSaidUpTo, type Said } from '../../thread/read/read-said.ts';
import { findForkOrigin } from '../runs/find-fork-origin.ts';
import { readRunningTurn } from '../live/running-turn.ts';
import { stateOf } from '../live/topics.ts';
import { AnswerPanel } from '../parts/answer-panel.tsx';
import { Page } from '../parts/layout.tsx';
import { Meta } from '../parts/meta.tsx';
import { Ago } from '../parts/ago.tsx';
import { RunningTurnPanel } from '../parts/running-turn.tsx';
import { SaidText } from '../parts/said-text.tsx';
import { WorkflowLink } from '../parts/workflow-link.tsx';
import { Status } from '../parts/status.tsx';
import { commitToReadFrom, STORY_STEPS } from './story-address.ts';
import { ThreadActs } from '../parts/thread-acts.tsx';
import { ThreadGraph } from '../parts/thread-graph.tsx';
import { ThreadTimeline } from '../parts/thread-timeline.tsx';
import { viewAsked, ViewTabs } from '../parts/view-tabs.tsx';
import type { TypedAnswer } from '../questions/read-answer.ts';
import { isOver } from '../../thread/read/thread-status.ts';
import type { Visit } from '../site.ts';

/**
 * A thread in one of its views: its story, when its roles worked, or its path through the workflow.
 * @param id of the thread, or a prefix that only it has
 * @param again an answer that was typed, and is not taken
 */
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
  const parts = { visit, view, before, from, again };
  return (
    <Page
      site={site}
      title={title}
      live={before === undefined && again === undefined ? { topic: pointer.id, state } : undefined}
    >
      <h1>{title}</h1>
      <Facts view={view} nowMs={nowMs} />
      <ForkLinks thread={pointer.id} origin={await findForkOrigin(site.engine.repository, pointer)} />
      <ViewTabs thread={view.thread} current={shown} />
      {shown === 'story' && <Story {...parts} />}
      {shown === 'timeline' && <ThreadTimeline {...parts} limit={STORY_STEPS} />}
      {shown === 'graph' && <ThreadGraph engine={site.engine} view={view} />}
    </Page>
  );
}

/** The steps of a thread as a conversation, with suspensions and answers in their places. */
async function Story({ visit, view, before, from, again }: StoryProps): Promise<Awaited<Html>> {
  const { site, nowMs } = visit;
  const { repository } = site.engine;
  const said = await readSaidUpTo(repository, from, { limit: STORY_STEPS, before });
  const first = said.find(({ kind }) => kind === 'step')?.number ?? 0;
  const isNewest = before === undefined;
  return (
    <>
      {first > 1 && (
        <p>
          <a href={`/t/${view.thread}?before=${first}`}>Earlier steps</a>
        </p>
      )}
      <ol class="story" aria-label="What was said">
        {said.map((entry) => (
          <Entry thread={view.thread} entry={entry} nowMs={nowMs} />
        ))}
      </ol>
      {isNewest && !isOver(view.status) && !site.isExport && (
        <RunningTurnPanel
          thread={view.thread}
          {...readRunningTurn(repository, view.thread)}
          isRunning={view.holder !== null}
        />
      )}
      {isNewest && view.status === 'suspended' && <AnswerPanel visit={visit} view={view} again={again} isBelowStory />}
      {isNewest && <ThreadActs visit={visit} view={view} />}
      {!isNewest && (
        <p>
          <a href={`/t/${view.thread}`}>Newest steps</a>
        </p>
      )}
    </>
  );
}

/** Of what a thread is a fork, and how both differ. */
function ForkLinks({ thread, origin }: { thread: string; origin: string | undefined }): Html | null {
  if (origin === undefined) return null;
  return (
    <p class="facts">
      <span>
        a fork of <a href={`/t/${origin}`}>{origin}</a>
      </span>
      <a href={`/diff/${origin}..${thread}`}>how they differ</a>
    </p>
  );
}

type StoryProps = {
  visit: Visit;
  view: ThreadView;
  /** Only what was before the step of this number. */
  before: number | undefined;
  /** The commit from which that is read. */
  from: ObjectId;
  again: TypedAnswer | undefined;
};

function Facts({ view, nowMs }: { view: ThreadView; nowMs: number }): Html {
  const { status, workflow, steps, nextRole, parent, calls, usage, startedAt, endedAt, reason } = view;
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
          </span>
        )}
        {usage && <span>{formatUsage(usage)}</span>}
      </p>
      {reason && status !== 'suspended' && <p class="reason">{reason}</p>}
      {parent && (
        <p class="facts">
          called by <a href={`/t/${parent}`}>{parent}</a>
        </p>
      )}
      {calls.length > 0 && (
        <details>
          <summary>{plural(calls.length, 'child thread')}</summary>
          <ul class="children">
            {calls.map((child) => (
              <li>
                <a href={`/t/${child.thread}`}>{child.thread}</a> <Status status={child.status} /> {child.role}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function Entry({ thread, entry, nowMs }: { thread: string; entry: Said; nowMs: number }): Html {
  const { kind, role, number, completedAt, text } = entry;
  const when = <Ago at={completedAt} nowMs={nowMs} />;
  switch (kind) {
    case 'start':
      return (
        <li class="entry person" id="task">
          <h2>
            The task <span class="quiet">{when}</span>
          </h2>
          <SaidText text={text} />
        </li>
      );
    case 'step':
      return (
        <li class="entry" id={`step-${number}`}>
          <h2>
            <a href={`/t/${thread}/${number}`}>
              {number}. {role}
            </a>{' '}
            <span class="quiet">{when}</span>
          </h2>
          <Meta meta={entry.meta ?? {}} />
          <SaidText text={text} all={`uwf step read ${entry.step}`} />
        </li>
      );
    case 'suspend':
      return (
        <li class="entry waited" id={entry.suspension}>
          <h2>
            <a href={`/t/${thread}/${entry.suspension}`}>{role} waited</a> <span class="quiet">{when}</span>
          </h2>
          <p class="reason">{entry.reason}</p>
          <SaidText text={text} all={`uwf step read ${entry.suspension}`} />
          {entry.refused.length > 0 && (
            <p class="quiet">
              {entry.refused.length === 1 ? '1 reply' : `${entry.refused.length} replies`} not accepted
            </p>
          )}
        </li>
      );
    case 'resume':
      return (
        <li class="entry person" id={entry.resumption}>
          <h2>
            {entry.by ?? 'A person'} answered <span class="quiet">{when}</span>
          </h2>
          <SaidText text={text} />
        </li>
      );
  }
}
