import { describeThread } from '../../engine/describe/describe.ts';
import type { Html } from '../html.ts';
import { stateOf } from '../live/topics.ts';
import { AnswerPanel } from '../parts/answer-panel.tsx';
import { Page } from '../parts/layout.tsx';
import { Ago } from '../parts/ago.tsx';
import type { Visit } from '../site.ts';

const PAGE_THREADS = 50;

/** What waits for a person, the longest waiting last, each with the form that answers it. */
export async function inboxPage(visit: Visit): Promise<Html> {
  const { site, nowMs } = visit;
  const state = await stateOf(site.engine, 'threads');
  const { threads, isRead } = await site.waiting.now();
  const waiting = threads.filter(({ status }) => status === 'suspended').slice(0, PAGE_THREADS);
  const views = await Promise.all(waiting.map(({ thread }) => describeThread(site.engine, thread)));
  return (
    <Page site={site} title="Inbox" live={{ topic: 'threads', state: isRead ? state : '' }}>
      <h1>Inbox</h1>
      {views.length === 0 && <p>{isRead ? 'Nothing waits for you.' : 'Looking for what waits for you …'}</p>}
      {views.map((view) => (
        <article id={view.thread} class="waiting">
          <h2>
            <a href={`/t/${view.thread}`}>{view.prompt}</a>
          </h2>
          <p class="facts">
            <span>{view.workflow}</span>
            <Ago at={view.startedAt} nowMs={nowMs} />
          </p>
          <AnswerPanel visit={visit} view={view} />
        </article>
      ))}
    </Page>
  );
}
