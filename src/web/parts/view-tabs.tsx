import type { Html } from '../html.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { PageLink } from './link.tsx';

/** The ways in which a thread is shown. */
export type ThreadViewName = 'story' | 'timeline' | 'graph';

const titles: Readonly<Record<ThreadViewName, string>> = { story: 'Story', timeline: 'Timeline', graph: 'Graph' };
const names: readonly ThreadViewName[] = ['story', 'timeline', 'graph'];

/** The view that an address asks for: the story where it names none that there is. */
export function viewAsked(url: URL): ThreadViewName {
  return names.find((name) => name === url.searchParams.get('view')) ?? 'story';
}

/** The address of a view of a thread: of its newest steps, or of those before one. */
export function addressOfView(thread: ThreadId, view: ThreadViewName, before?: number): string {
  const query = new URLSearchParams({
    ...(view !== 'story' && { view }),
    ...(before !== undefined && { before: String(before) }),
  });
  return query.size === 0 ? `/t/${thread}` : `/t/${thread}?${query.toString()}`;
}

/** Links to the views of a thread. */
export function ViewTabs({ thread, current }: { thread: ThreadId; current: ThreadViewName }): Html {
  return (
    <nav class="tabs" aria-label="Views of this thread">
      {names.map((name) => (
        <PageLink href={addressOfView(thread, name)} {...(name === current && { 'aria-current': 'page' })}>
          {titles[name]}
        </PageLink>
      ))}
    </nav>
  );
}
