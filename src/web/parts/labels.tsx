import type { BranchName } from '../../engine/events.ts';
import { formatAgo, formatTime, plural } from '../../text/wording.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { shorten } from '../../thread/commit-message.ts';
import { hitsInText, type SecretHit } from '../../thread/secret-scan.ts';
import { readableMeta } from '../../thread/step-view.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { ThreadStatus } from '../../thread/thread-state.ts';
import type { Site } from '../site.ts';
import { type Html, PageLink, useFile } from './page.tsx';

/** A moment as its distance from now, with the exact time as its title; a file tells the exact time. */
export function Ago({ at, nowMs }: { at: string; nowMs: number }): Html {
  const timeMs = Date.parse(at);
  return (
    <time datetime={at} title={formatTime(timeMs)}>
      {useFile() ? formatTime(timeMs) : formatAgo(timeMs, nowMs)}
    </time>
  );
}

/** A person, by name; the address shows where the pointer rests. @param person as `name <email>` */
export function By({ person }: { person: string }): Html {
  return <span title={person}>{person.replace(/ <[^<>]*>$/u, '')}</span>;
}

/** The caller of a thread, and which branch of it the thread is. */
export function CalledBy({ parent, branch }: { parent: ThreadId; branch: BranchName | null }): Html {
  const how = branch === null ? 'called by' : `branch ${branch.key} of`;
  return (
    <p class="facts">
      <span>
        {how} <PageLink href={`/t/${parent}`}>{parent}</PageLink>
      </span>
    </p>
  );
}

/** A status as people say it. */
const words: Readonly<Record<ThreadStatus, string>> = {
  idle: 'ready',
  interrupted: 'interrupted',
  running: 'running',
  suspended: 'waits for you',
  ended: 'ended',
  failed: 'failed',
  cancelled: 'cancelled',
  newer: 'needs a newer uwf',
  corrupt: 'damaged',
};

/** The status of a thread, in words and colour. */
export function Status({ status }: { status: ThreadStatus }): Html {
  return <span class={`status status-${status}`}>{words[status]}</span>;
}

/** More of it is in the story: the reason why a thread ended can be its whole last reply. */
const MAX_REASON = 600;

/** The beginning of the reason why a thread waits or ended. */
export function Reason({ text }: { text: string }): Html {
  return <p class="reason">{shorten(text.slice(0, MAX_REASON * 2), MAX_REASON)}</p>;
}

/** The name of a workflow, which leads to its page. A thread that cannot be read has none. */
export function WorkflowLink({ name }: { name: string }): Html | null {
  if (name === '') return null;
  return <PageLink href={`/w/${encodeURIComponent(name)}`}>{name}</PageLink>;
}

/** Commands to paste: a click selects all of it. */
export function CommandToPaste({ command }: { command: string }): Html {
  return (
    <pre class="command" tabindex={0}>
      <code>{command}</code>
    </pre>
  );
}

/** What to try next, its commands set apart. */
export function Hint({ hint }: { hint: string }): Html {
  return (
    <p class="quiet">{hint.split(/'(uwf [^']*)'/u).map((part, at) => (at % 2 === 1 ? <code>{part}</code> : part))}</p>
  );
}

/** A table that scrolls inside its own box. */
export function DataTable({ columns, children }: { columns: readonly string[]; children?: unknown }): Html {
  return (
    <div class="drawing">
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col">{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** The structured part of a reply: names and values. */
export function Meta({ meta }: { meta: JsonObject }): Html | null {
  const fields = Object.entries(readableMeta(meta));
  if (fields.length === 0) return null;
  return (
    <dl class="meta">
      {fields.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{textOf(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** So many places are named. */
const MAX_PLACES = 20;

type MarkProps = { thread: string; secrets: readonly (SecretHit & { file?: string })[] };

/** Says that something holds what looks like a secret, for which a push refuses it: where and by which rule, never the secret. */
export function SecretMark({ thread, secrets }: MarkProps): Html | null {
  if (secrets.length === 0) return null;
  const places = secrets
    .slice(0, MAX_PLACES)
    .map(({ file, at, rule }) => [file, at, `(${rule})`].filter(Boolean).join(' '));
  return (
    <div class="refusal secrets">
      <p>
        {plural(secrets.length, 'secret')} here, it seems: <code>uwf push</code> refuses the thread.{' '}
        <code>uwf thread redact {thread}</code> takes them out.
      </p>
      <ul>
        {places.map((place) => (
          <li>{place}</li>
        ))}
      </ul>
    </div>
  );
}

/** What looks like a secret in a text. */
export function secretsIn({ secrets }: Site, text: string): SecretHit[] {
  return secrets === undefined ? [] : hitsInText(secrets.redactor, text);
}

/** The ways in which a thread is shown. */
type ThreadViewName = 'story' | 'timeline' | 'graph';

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
