import { raw } from 'hono/html';
import type { NodeHash } from '../../cas/hash.ts';
import { describeThread, type ThreadView } from '../../engine/describe/describe.ts';
import { findTurnOf } from '../../engine/describe/find-turn.ts';
import { plural } from '../../text/wording.ts';
import { asFault, ThreadNotFound } from '../../thread/thread-errors.ts';
import { getThread } from '../../thread/find-thread.ts';
import { readSaidUpTo } from '../../thread/read-said.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { FileChangesPanel, readStepChanges } from '../parts/file-changes.tsx';
import { Ago, CalledBy, type Html, Meta, Page, PageLink, renderText } from '../parts/page.tsx';
import { stateOf } from '../live/live.ts';
import { AnswerPanel } from '../parts/answer-panel.tsx';
import { SaidText } from '../parts/said-text.tsx';
import { textAddress } from '../parts/story.tsx';
import type { Visit } from '../site.ts';

const PAGE_THREADS = 50;
/** Of so many threads the files are compared: that starts git. */
const WITH_FILES = 10;

/** What waits for a person, the newest thread first, each with what was done so far and the form that answers it. */
export async function inboxPage(visit: Visit): Promise<Html> {
  const { site } = visit;
  const state = await stateOf(site.engine, 'threads');
  const { threads, isRead } = await site.waiting.now();
  const suspended = threads.filter(({ status }) => status === 'suspended');
  const waiting = suspended.slice(0, PAGE_THREADS);
  const views = await Promise.all(
    waiting.map(({ thread }) => describeThread(site.engine, thread).catch((error) => unreadable(thread, error))),
  );
  // The question of a child is answered at the thread that waits for it.
  const waitsFor = new Map(views.map((view) => [view.thread, 'fault' in view ? null : view.waitsFor]));
  const shown = views.filter((view) => {
    return 'fault' in view || view.parent === null || waitsFor.get(view.parent) !== (view.waitsFor ?? view.thread);
  });
  return (
    <Page site={site} title="Inbox" place="/inbox" live={{ topic: 'threads', state: isRead ? state : '' }}>
      <h1>
        Inbox <span class="count">{shown.length + suspended.length - waiting.length}</span>
      </h1>
      {shown.length === 0 && <p>{isRead ? 'Nothing waits for you.' : 'Looking for what waits for you …'}</p>}
      {shown.map((view, index) =>
        'fault' in view ? (
          <UnreadableThread {...view} />
        ) : (
          <Waiting visit={visit} view={view} hasFiles={index < WITH_FILES} />
        ),
      )}
      {suspended.length > waiting.length && (
        <p>
          <PageLink href="/?status=suspended">All {suspended.length} threads that wait</PageLink>
        </p>
      )}
    </Page>
  );
}

type Unreadable = { thread: ThreadId; fault: string };

/** A thread that is damaged, or was removed a moment ago, does not hide the others. */
function unreadable(thread: ThreadId, error: unknown): Unreadable {
  return { thread, fault: error instanceof ThreadNotFound ? error.message : asFault(error) };
}

function UnreadableThread({ thread, fault }: Unreadable): Html {
  return (
    <article class="waiting" id={thread} aria-labelledby={`task-${thread}`}>
      <h2 class="task" id={`task-${thread}`}>
        <PageLink href={`/t/${thread}`}>{thread}</PageLink>
      </h2>
      <p class="refusal">It cannot be read: {fault}</p>
    </article>
  );
}

type WaitingProps = { visit: Visit; view: ThreadView; hasFiles: boolean };

async function Waiting(props: WaitingProps): Promise<Html> {
  try {
    // What is inside is read here, so that its faults are those of this thread.
    return raw(await renderText(<WaitingThread {...props} />));
  } catch (error) {
    return <UnreadableThread {...unreadable(props.view.thread, error)} />;
  }
}

async function WaitingThread({ visit, view, hasFiles }: WaitingProps): Promise<Html> {
  const { thread, prompt, workflow, steps, startedAt, head, parent, branch } = view;
  const said = await readSaidUpTo(visit.site.engine.repository, head, { limit: 1 });
  const last = said.find(({ kind }) => kind === 'step');
  return (
    <article class="waiting" id={thread} aria-labelledby={`task-${thread}`}>
      <h2 class="task" id={`task-${thread}`}>
        <PageLink href={`/t/${thread}`}>{prompt === '' ? thread : prompt}</PageLink>
      </h2>
      <p class="facts">
        <span>{workflow}</span>
        <span>{plural(steps, 'step')}</span>
        <span>
          started <Ago at={startedAt} nowMs={visit.nowMs} />
        </span>
      </p>
      {parent && <CalledBy parent={parent} branch={branch} />}
      {last && (
        <details class="last" open={last.text.length < LONG_REPLY}>
          <summary>
            What {last.role} did last, in step {last.number}
          </summary>
          <Meta meta={last.meta ?? {}} />
          <SaidText text={last.text} max={MAX_LAST} whole={textAddress(thread, last.step ?? '')} />
          <p>
            <PageLink href={`/t/${thread}/${last.step}`}>The step</PageLink>
          </p>
        </details>
      )}
      {last?.step && hasFiles && <LastFiles visit={visit} thread={thread} step={last.step} />}
      <AnswerPanel visit={visit} view={view} />
    </article>
  );
}

/** Of a longer one the beginning is shown: the page has up to 50. */
const MAX_LAST = 10_000;
/** A longer reply is folded. */
const LONG_REPLY = 1_500;

/** What the last step did to the files, folded: that is what a person is asked about. */
async function LastFiles({
  visit,
  thread,
  step,
}: {
  visit: Visit;
  thread: ThreadId;
  step: NodeHash;
}): Promise<Html | null> {
  const { engine } = visit.site;
  const { commit } = await findTurnOf(engine.repository, await getThread(engine.repository, thread), step);
  const changes = commit.kind === 'step' ? await readStepChanges(engine, commit) : undefined;
  if (changes === undefined || changes.files.length === 0) return null;
  return (
    <details class="last">
      <summary>{plural(changes.files.length + changes.others, 'file')} changed in it</summary>
      <FileChangesPanel changes={changes} />
    </details>
  );
}
