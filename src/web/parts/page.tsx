import { html, raw } from 'hono/html';
import { type Context, createContext, useContext } from 'hono/jsx';
import type { HtmlEscapedString } from 'hono/utils/html';
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

/** A page with its navigation. */
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
