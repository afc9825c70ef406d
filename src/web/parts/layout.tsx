import { raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import { renderText, type Html } from '../html.ts';
import type { Site } from '../site.ts';
import { PageLink, useFile } from './link.tsx';

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
