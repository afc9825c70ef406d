import type { ThreadSummary } from '../../engine/describe/list-threads.ts';
import { plural } from '../../format-time.ts';
import { iso } from '../../iso.ts';
import type { Html } from '../html.ts';
import { ThreadItem } from '../pages/threads-page.tsx';
import { Ago } from '../parts/ago.tsx';
import { Page } from '../parts/layout.tsx';
import type { Site } from '../site.ts';

type ExportProps = { site: Site; threads: readonly ThreadSummary[]; nowMs: number };

/** The first page of an export: its threads, and the search, which needs JavaScript. */
export function ExportPage({ site, threads, nowMs }: ExportProps): Html {
  return (
    <Page site={site} title="Threads">
      <h1>Threads</h1>
      <p class="quiet">
        {plural(threads.length, 'thread')}, as they were at <Ago at={iso(nowMs)} nowMs={nowMs} />.
      </p>
      <div class="export-search" id="search" role="search" hidden>
        <label for="words">Search what was said</label>
        <input id="words" type="search" autocomplete="off" />
        <p class="quiet" id="found" role="status"></p>
        <ol id="results" aria-label="Found"></ol>
      </div>
      <ul class="threads">
        {threads.map((thread) => (
          <ThreadItem thread={thread} nowMs={nowMs} />
        ))}
      </ul>
      <script src="/assets/search-index.js" defer></script>
    </Page>
  );
}
