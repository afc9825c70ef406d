import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { isNodeHash } from '../../cas/hash.ts';
import { listThreads } from '../../engine/describe/list-threads.ts';
import type { ThreadSummary } from '../../engine/describe/read-listed.ts';
import { createEngineContext } from '../../engine/engine-context.ts';
import { UwfError } from '../../errors.ts';
import { plural } from '../../text/wording.ts';
import type { Repository } from '../../git/repository.ts';
import { iso } from '../../time/clock.ts';
import { inPlaceOf } from '../../or-else.ts';
import { packageRoot } from '../../git/system/process-identity.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { getThread } from '../../thread/find-thread.ts';
import { hitsInText, scanThreads, type SecretHit, type SecretPlace, SecretScan } from '../../thread/secret-scan.ts';
import { ThreadNotFound } from '../../thread/thread-errors.ts';
import { isThreadId, type ThreadId, type ThreadPointer } from '../../thread/thread-id.ts';
import { threadStatuses } from '../../thread/thread-state.ts';
import {
  Ago,
  type ExportedFile,
  FileContext,
  type Html,
  Page,
  renderText,
  type StoryEntry,
  type Target,
  useFile,
} from '../parts/page.tsx';
import { WaitingThreads } from '../live/live.ts';
import { MessagePage } from '../pages/message-page.tsx';
import { stepPage } from '../pages/step-page.tsx';
import { threadPage } from '../pages/thread-page.tsx';
import { ThreadItem } from '../pages/threads-page.tsx';
import { repositoryName, type Site, type Visit } from '../site.ts';
import { ExportFolder, onlyThreads, withChildren, withoutIds } from './export-folder.ts';

/** What the search has of one text at most, in characters. */
const MAX_SEARCHED = 10_000;

const INDEX = 'index.html';

/** Addresses of pages are read as those of a server. */
const ORIGIN = 'http://localhost';

type ExportOptions = {
  repository: Repository;
  /** With their children; nothing of any other thread is written. */
  threads: readonly ThreadPointer[];
  folder: string;
  /** Searches everything that is written for secrets; absent where they are allowed. */
  redactor: Redactor | undefined;
  /** Is called for each commit that is searched and each page that is written. */
  onProgress?: () => void;
  signal?: AbortSignal;
};

/** What an export would have published, and so wrote nothing. */
export class SecretsInExport extends UwfError {
  /** Places in commits. */
  declare readonly secrets: readonly (SecretPlace & { thread: ThreadId | null })[];
  /** Places on pages: also those that come from what steps followed and did not bring in. */
  declare readonly onPages: readonly (SecretHit & { file: string })[];

  constructor(facts: Pick<SecretsInExport, 'secrets' | 'onPages'>) {
    const count = facts.secrets.length + facts.onPages.length;
    super(`nothing was exported: it has ${count === 1 ? 'a secret' : `${count} secrets`}`, {
      code: 'secrets-in-export',
      kind: 'data',
      hint: "'uwf thread redact <thread>' takes secrets out of a thread; --allow-secrets exports them as they are",
      facts,
    });
  }
}

/** Writes the pages of threads and their children as files that need no server; where it throws, none of them is left. */
export async function exportWeb(options: ExportOptions): Promise<{ threads: number; pages: number }> {
  const { repository, folder: path, redactor, onProgress = () => {}, signal } = options;
  const config = { agents: {}, roles: {} };
  const { threads, others } = await withChildren(createEngineContext({ repository, config }), options.threads);
  const folder = new ExportFolder(path);
  try {
    if (redactor !== undefined) await refuseSecrets(options, [...threads.values()], redactor);
    const engine = createEngineContext({ repository: onlyThreads(repository, threads), config });
    const site: Site = {
      engine,
      waiting: new WaitingThreads(engine),
      name: repositoryName(repository),
      actions: undefined,
    };
    const pages = new Pages(site, threads, others, folder, redactor);
    await pages.writeIndex();
    while (await pages.writeNext()) {
      onProgress();
      signal?.throwIfAborted();
    }
    if (pages.secrets.length > 0) throw new SecretsInExport({ secrets: [], onPages: pages.secrets });
    for (const name of ['page.css', 'search.js'])
      folder.write(`assets/${name}`, readFileSync(join(packageRoot(), 'dist', 'web', name)));
    folder.append('assets/search-index.js', '];\n');
    folder.finish();
    return { threads: threads.size, pages: pages.count };
  } catch (error) {
    folder.discard();
    throw error;
  }
}

async function refuseSecrets(
  { repository, onProgress, signal }: ExportOptions,
  threads: ThreadPointer[],
  redactor: Redactor,
): Promise<void> {
  const secrets: (SecretPlace & { thread: ThreadId | null })[] = [];
  // What cannot be read is on no page.
  for await (const { thread, places } of scanThreads(repository, new SecretScan(repository, redactor), threads)) {
    onProgress?.();
    signal?.throwIfAborted();
    secrets.push(...places.map((place) => ({ thread, ...place })));
  }
  if (secrets.length > 0) throw new SecretsInExport({ secrets, onPages: [] });
}

/** Writes the pages that its pages link to. */
class Pages {
  readonly #site: Site;
  readonly #threads: ReadonlyMap<ThreadId, ThreadPointer>;
  readonly #others: ReadonlySet<string>;
  readonly #folder: ExportFolder;
  readonly #redactor: Redactor | undefined;
  readonly #nowMs: number;
  readonly #known = new Set<string>();
  /** Stories come first: then it is known on which page of a long one each of its parts stands. */
  readonly #stories: URL[] = [];
  readonly #further: URL[] = [];
  readonly #places = new Map<string, string>();
  /** Threads by what names them in addresses. */
  readonly #named = new Map<string, ThreadId | undefined>();
  readonly secrets: (SecretHit & { file: string })[] = [];
  count = 0;

  constructor(
    site: Site,
    threads: ReadonlyMap<ThreadId, ThreadPointer>,
    others: ReadonlySet<string>,
    folder: ExportFolder,
    redactor: Redactor | undefined,
  ) {
    this.#site = site;
    this.#threads = threads;
    this.#others = others;
    this.#folder = folder;
    this.#redactor = redactor;
    this.#nowMs = site.engine.repository.now();
  }

  async writeIndex(): Promise<void> {
    this.#folder.append('assets/search-index.js', 'window.uwfSearch = [\n');
    const among = new Set(this.#threads.keys());
    const threads = await listThreads(this.#site.engine, { statuses: threadStatuses, among });
    await this.#write(<ExportPage site={this.#site} threads={threads} nowMs={this.#nowMs} />, INDEX);
  }

  /** @returns whether there was one more */
  async writeNext(): Promise<boolean> {
    const url = this.#stories.shift() ?? this.#further.shift();
    if (url === undefined) return false;
    const file = pageFile(url);
    try {
      const entries = await this.#write(await this.#page(url), file);
      for (const { anchor, title, text } of entries) {
        this.#places.set(`${url.pathname}#${anchor}`, file);
        const entry = [`${file}#${anchor}`, title, text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_SEARCHED)];
        this.#folder.append('assets/search-index.js', withoutIds(`${JSON.stringify(entry)},\n`, this.#others));
      }
    } catch (error) {
      if (!(error instanceof UwfError)) throw error;
      await this.#write(<MessagePage title="This cannot be shown" text={error.message} again="/" />, file);
    }
    return true;
  }

  async #page(url: URL): Promise<Html> {
    const visit = { site: this.#site, url, nowMs: this.#nowMs, formToken: '' };
    for (const { path, page } of exportedPages) {
      const [, first, second = ''] = path.exec(url.pathname) ?? [];
      if (first !== undefined) return page(visit, decodeURIComponent(first), decodeURIComponent(second));
    }
    throw new Error(`no page for ${url.pathname}`);
  }

  /** Renders a page as a file. @returns what its story has */
  async #write(page: Html, name: string): Promise<StoryEntry[]> {
    const entries: StoryEntry[] = [];
    const file: ExportedFile = {
      targetOf: async (address) => {
        const target = await this.#targetOf(address);
        return typeof target === 'string' ? target : { href: relativeFile(name, target.file) + target.hash };
      },
      asset: (asset) => relativeFile(name, `assets/${asset}`),
      onEntry: (entry) => entries.push(entry),
    };
    const html = await renderText(<FileContext.Provider value={file}>{page}</FileContext.Provider>);
    const made = withoutIds(html, this.#others);
    if (this.#redactor !== undefined) {
      for (const hit of hitsInText(this.#redactor, unescaped(made))) this.secrets.push({ file: name, ...hit });
    }
    this.#folder.write(name, made);
    this.count += 1;
    return entries;
  }

  /** Where an address leads; its page is written, too. */
  async #targetOf(address: string): Promise<{ file: string; hash: string } | Exclude<Target, object>> {
    const asked = new URL(address, ORIGIN);
    if (asked.pathname === '/') return { file: INDEX, hash: '' };
    const found = exportedPages.find(({ path }) => path.test(asked.pathname));
    if (found === undefined) return asked.pathname.startsWith('/t/') ? 'other-thread' : 'not-here';
    const [, name = '', rest] = asked.pathname.slice(1).split('/');
    const thread = await this.#threadOf(decodeURIComponent(name));
    if (thread === undefined) return 'other-thread';
    const url = new URL(rest === undefined ? `/t/${thread}` : `/t/${thread}/${rest}`, ORIGIN);
    const { hash } = asked;
    // A part of a story that is named lies on one of its pages, wherever the address begins them.
    if (rest === undefined && hash !== '' && !asked.searchParams.has('view')) {
      return { file: this.#places.get(url.pathname + hash) ?? pageFile(url), hash };
    }
    for (const key of found.query) {
      const value = asked.searchParams.get(key);
      if (value !== null) url.searchParams.set(key, value);
    }
    if (!this.#known.has(url.href)) {
      this.#known.add(url.href);
      (isStory(url) ? this.#stories : this.#further).push(url);
    }
    return { file: pageFile(url), hash };
  }

  /** A thread of the export by its id, or by the hash of its start or end. */
  async #threadOf(name: string): Promise<ThreadId | undefined> {
    if (!this.#named.has(name)) {
      const { repository } = this.#site.engine;
      const found = await getThread(repository, name).catch(inPlaceOf(ThreadNotFound, undefined));
      // A child without a ref is found through its caller.
      this.#named.set(name, found && this.#threads.has(found.id) ? found.id : undefined);
    }
    return this.#named.get(name);
  }
}

function isStory({ pathname, searchParams }: URL): boolean {
  return /^\/t\/[^/]+$/.test(pathname) && !searchParams.has('view');
}

type ExportProps = { site: Site; threads: readonly ThreadSummary[]; nowMs: number };

/** The first page of an export: its threads, and the search, which needs JavaScript. */
function ExportPage({ site, threads, nowMs }: ExportProps): Html {
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
      <script src={useFile()?.asset('search-index.js')} defer></script>
    </Page>
  );
}

const characters: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

function unescaped(html: string): string {
  return html.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => characters[entity] ?? entity);
}

type ExportedPage = {
  path: RegExp;
  /** What of the query makes another page. */
  query: readonly string[];
  page: (visit: Visit, first: string, second: string) => Promise<Html>;
};

/** The pages that an export has, besides its index: those to which a page of it links. The first group names the thread. */
const exportedPages: readonly ExportedPage[] = [
  { path: /^\/t\/([^/]+)$/, query: ['view', 'before'], page: (visit, id) => threadPage(visit, id) },
  { path: /^\/t\/([^/]+)\/([^/]+)$/, query: ['turns'], page: stepPage },
];

const MAX_WORD = 80;

/** The file of an address, with the same name on every system: case, reserved names and length make no difference. */
function pageFile({ pathname, searchParams }: URL): string {
  const words = pathname.slice(1).split('/').map(decodeURIComponent);
  const query = [...searchParams].flat();
  return `pages/${[...words, ...query].map(safeWord).join('.')}.html`;
}

function safeWord(word: string): string {
  if (isThreadId(word) || isNodeHash(word)) return word;
  const safe = word.replaceAll(/[^a-z0-9-]/gu, (character) => `_${character.codePointAt(0)?.toString(16)}_`);
  if (safe.length <= MAX_WORD) return safe;
  return `${safe.slice(0, MAX_WORD)}_${createHash('sha256').update(word).digest('hex').slice(0, 16)}`;
}

function relativeFile(from: string, to: string): string {
  return posix.relative(posix.dirname(from), to);
}
