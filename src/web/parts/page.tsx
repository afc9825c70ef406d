import { html, raw } from 'hono/html';
import { type Context, createContext, useContext } from 'hono/jsx';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { BranchName } from '../../engine/events.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { formatAgo, formatTime, plural } from '../../text/wording.ts';
import { shorten } from '../../thread/commit-message.ts';
import { hitsInText, type SecretHit } from '../../thread/secret-scan.ts';
import { readableMeta } from '../../thread/step-view.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { ThreadStatus } from '../../thread/thread-state.ts';
import type { Site } from '../site.ts';

type PageProps = {
  site: Site;
  title: string;
  /** Which page of the navigation this is, by its address. */
  place?: (typeof places)[number][0];
  /** What the page shows, and in which state: when the state changes, the browser is told and loads the page again. */
  live?: { topic: string; state: string } | undefined;
  /** For what stands side by side. */
  isWide?: boolean;
  children?: unknown;
};

const places = [
  ['/', 'Threads'],
  ['/inbox', 'Inbox'],
  ['/w', 'Workflows'],
  ['/cost', 'Cost'],
  ['/start', 'Start'],
] as const;

export function Page({ site, title, place, live, isWide, children }: PageProps): Html {
  const isFile = useFile() !== undefined;
  return (
    <Document title={`${title} · ${site.name}`}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="bar">
        <PageLink class="brand" href="/">
          uwf <span>{site.name}</span>
        </PageLink>
        <nav aria-label="Pages">
          {places
            .filter(([path]) => path === '/' || !isFile)
            .map(([path, name]) => (
              <PageLink href={path} {...(path === place && { 'aria-current': 'page' })}>
                {name}
              </PageLink>
            ))}
        </nav>
        <p class="connection" role="status" id="connection"></p>
        {!isFile && (
          <button type="button" class="plain" id="notify" aria-pressed="false" hidden>
            Notify me
          </button>
        )}
      </header>
      <main
        id="main"
        {...(isWide && { class: 'wide' })}
        {...(live && { 'data-topic': live.topic, 'data-state': live.state })}
      >
        {children}
      </main>
    </Document>
  );
}

/**
 * Characters that turn the direction of the text behind them: what is read is then not what was said. Marks for a single place
 * stay, which some scripts are written with.
 *
 * Source: Unicode TR 9, 2; CVE-2021-42574.
 */
const turning = /[\u202A-\u202E\u2066-\u2069]/g;

/** The policy of a file, which has no headers. */
const POLICY =
  "default-src 'none'; style-src 'self' file:; script-src 'self' file:; base-uri 'none'; form-action 'none'";

/** The frame of every page, also of those for visitors who are not logged in. Nothing in it turns the direction of text. */
export async function Document({ title, children }: { title: string; children?: unknown }): Promise<HtmlEscapedString> {
  const file = useFile();
  const page = await renderText(
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          {file && <meta http-equiv="Content-Security-Policy" content={POLICY} />}
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <title>{title}</title>
          <link rel="stylesheet" href={file?.asset('page.css') ?? '/assets/page.css'} />
          <script src={file?.asset('search.js') ?? '/assets/page.js'} defer></script>
        </head>
        <body>{children}</body>
      </html>
    </>,
  );
  return raw(page.replaceAll(turning, '\uFFFD'));
}

/** Where a link of an export leads: to a file, or nowhere in it. */
export type Target = { href: string } | 'not-here' | 'other-thread';

/** Something that was said in a story, for the search. */
export type StoryEntry = { anchor: string; title: string; text: string };

/** The file that a page becomes. */
export type ExportedFile = {
  /** Where an address of the page leads from this file. */
  targetOf(address: string): Promise<Target>;
  /** How this file names one of `assets/`. */
  asset(name: string): string;
  /** Is told what its story has. */
  onEntry(entry: StoryEntry): void;
};

/** The file that the page becomes that is being rendered; `undefined` for one that a server answers with. */
export const FileContext: Context<ExportedFile | undefined> = createContext<ExportedFile | undefined>(undefined);

export function useFile(): ExportedFile | undefined {
  return useContext(FileContext);
}

type LinkProps = { href: string; class?: string; rel?: string; 'aria-current'?: 'page'; children?: unknown };

/** A link to one of our pages. In an export it leads to a file, or its words stay alone. */
export function PageLink(props: LinkProps): Html {
  const file = useFile();
  return file === undefined || props.href.startsWith('#') ? <a {...props} /> : linkInFile(file, props);
}

async function linkInFile(file: ExportedFile, { children, ...props }: LinkProps): Promise<Awaited<Html>> {
  const target = await file.targetOf(props.href);
  if (target === 'not-here') return <>{children}</>;
  // Its words may be of the other thread, and a drawing needs none.
  if (target === 'other-thread') return <>{isText(children) ? 'another thread' : ''}</>;
  return (
    <a {...props} href={target.href}>
      {children}
    </a>
  );
}

function isText(children: unknown): boolean {
  return [children].flat(Infinity).every((child) => typeof child !== 'object' || child === null);
}

/** What a component makes: HTML in which every text is escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** The text of a component, with those inside of it that read something first. */
export async function renderText(component: Html | Promise<Html>): Promise<string> {
  return (await html`${component}`).toString();
}

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

export function Status({ status }: { status: ThreadStatus }): Html {
  return <span class={`status status-${status}`}>{words[status]}</span>;
}

/** More of it is in the story: the reason why a thread ended can be its whole last reply. */
const MAX_REASON = 600;

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

export function secretsIn({ secrets }: Site, text: string): SecretHit[] {
  return secrets === undefined ? [] : hitsInText(secrets.redactor, text);
}

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
