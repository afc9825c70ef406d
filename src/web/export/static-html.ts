import { relativeFile } from './static-address.ts';

/** Where a link leads: a file of the export with a fragment, or nowhere in it. */
export type Target = { file: string; hash: string } | 'not-here' | 'other-thread';

/** In the HTML of pages, texts and attributes have no `<`, `>` and `"` of their own: they are escaped. */
const links = /<a\b([^>]*)>(.*?)<\/a>/gs;
const hrefs = /\bhref="([^"]*)"/;

/** The policy of the pages as an element, because a file has no headers. */
const policy =
  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self' file:; " +
  "script-src 'self' file:; base-uri 'none'; form-action 'none'\"/>";

/** The addresses on this server to which our own links of a page lead; those that an agent wrote are not among them. */
export function ownAddresses(html: string): string[] {
  return [...html.matchAll(links)].flatMap(([, attributes = '']) => {
    const href = hrefOf(attributes);
    return href?.startsWith('/') && !isAgents(attributes) ? [href] : [];
  });
}

/**
 * Makes a file of a page: links lead to files or become texts, times are told as they are, and nothing asks a server.
 * @param file its own name
 * @param targets of the addresses that {@link ownAddresses} found
 */
export function staticHtml(html: string, file: string, targets: ReadonlyMap<string, Target>): string {
  return html
    .replaceAll(/<form\b.*?<\/form>/gs, '')
    .replaceAll(links, (whole, attributes: string, content: string) => {
      const href = hrefOf(attributes);
      if (href === undefined || (!isAgents(attributes) && href.startsWith('#'))) return whole;
      // What an agent links to here lies on its machine, or on a page that is named otherwise.
      if (isAgents(attributes)) return /^(?:https?:\/\/|mailto:)/i.test(href) ? whole : content;
      const target = targets.get(href);
      if (target === undefined || target === 'not-here') return content;
      if (target === 'other-thread') return content.includes('<') ? '' : 'another thread';
      const address = escaped(relativeFile(file, target.file) + target.hash);
      return `<a${attributes.replace(hrefs, () => `href="${address}"`)}>${content}</a>`;
    })
    .replaceAll(/(<time datetime="[^"]*" title="([^"]*)">)[^<]*/g, '$1$2')
    .replace('<meta charset="utf-8"/>', (meta) => meta + policy)
    .replaceAll('"/assets/page.css"', () => `"${relativeFile(file, 'assets/page.css')}"`)
    .replaceAll('"/assets/page.js"', () => `"${relativeFile(file, 'assets/search.js')}"`)
    .replaceAll('"/assets/search-index.js"', () => `"${relativeFile(file, 'assets/search-index.js')}"`);
}

/** Links in texts of agents are marked: see `parts/markdown.ts`. */
function isAgents(attributes: string): boolean {
  return attributes.includes('rel="noreferrer noopener nofollow"');
}

function hrefOf(attributes: string): string | undefined {
  const href = hrefs.exec(attributes)?.[1];
  return href === undefined ? undefined : unescaped(href);
}

const characters: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

/** The text that was escaped. */
export function unescaped(html: string): string {
  return html.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => characters[entity] ?? entity);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}

const MAX_SEARCHED = 10_000;

/** An entry of the search: where it leads, its title, and its text. */
export type SearchEntry = [address: string, title: string, text: string];

/** The entries of a story: one for each thing that was said. */
export function searchEntries(html: string, file: string): SearchEntry[] {
  const title = textIn(/<h1[^>]*>(.*?)<\/h1>/s.exec(html)?.[1] ?? '');
  const [, ...entries] = html.split(/<li class="entry[^"]*" id="/);
  return entries.map((entry) => {
    const id = entry.slice(0, entry.indexOf('"'));
    const [, heading = '', text = ''] = /^[^>]*>\s*<h2>(.*?)<\/h2>(.*?)(?:<\/ol>|$)/s.exec(entry) ?? [];
    const name = textIn(heading.replace(/<span class="quiet">.*/s, ''));
    return [`${file}#${id}`, `${title} · ${name}`, textIn(text).slice(0, MAX_SEARCHED)];
  });
}

function textIn(html: string): string {
  return unescaped(html.replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim();
}
