import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createEngineContext } from '../../engine/engine-context.ts';
import { listThreads } from '../../engine/describe/list-threads.ts';
import { UwfError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { inPlaceOf } from '../../or-else.ts';
import { packageRoot } from '../../package-root.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { getThread } from '../../thread/find-thread.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import { threadStatuses } from '../../thread/thread-status.ts';
import { ThreadNotFound } from '../../thread/thread-errors.ts';
import { hitsInText, scanThreads, type SecretHit, type SecretPlace, SecretScan } from '../../thread/secret-scan.ts';
import { renderText } from '../html.ts';
import { WaitingThreads } from '../live/waiting-threads.ts';
import { MessagePage } from '../pages/message-page.tsx';
import { repositoryName, type Site } from '../site.ts';
import { ExportFolder } from './export-folder.ts';
import { ExportPage } from './export-page.tsx';
import { onlyThreads, withChildren, withoutIds } from './export-scope.ts';
import { exportedPages, pageFile } from './static-address.ts';
import { ownAddresses, searchEntries, staticHtml, unescaped, type Target } from './static-html.ts';

/** Addresses of pages are read as those of a server. */
const ORIGIN = 'http://localhost';

export type ExportOptions = {
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

/**
 * Writes the pages of threads and of their children as files that need no server.
 * @returns how many threads and files it wrote
 * @throws {SecretsInExport} `secrets-in-export`; nothing is left of the export then
 */
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
      isExport: true,
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
    const page = <ExportPage site={this.#site} threads={threads} nowMs={this.#nowMs} />;
    await this.#write(await renderText(page), 'index.html');
  }

  /** @returns whether there was one more */
  async writeNext(): Promise<boolean> {
    const url = this.#stories.shift() ?? this.#further.shift();
    if (url === undefined) return false;
    const file = pageFile(url);
    const html = await this.#render(url);
    if (isStory(url)) {
      for (const [, id = ''] of html.matchAll(/<li class="entry[^"]*" id="([^"]+)"/g))
        this.#places.set(`${url.pathname}#${id}`, file);
      for (const entry of searchEntries(html, file)) {
        this.#folder.append('assets/search-index.js', withoutIds(`${JSON.stringify(entry)},\n`, this.#others));
      }
    }
    await this.#write(html, file);
    return true;
  }

  async #render(url: URL): Promise<string> {
    const visit = { site: this.#site, url, nowMs: this.#nowMs, formToken: '' };
    for (const { path, page } of exportedPages) {
      const [, first, second = ''] = path.exec(url.pathname) ?? [];
      if (first === undefined) continue;
      try {
        return await renderText(page(visit, decodeURIComponent(first), decodeURIComponent(second)));
      } catch (error) {
        if (!(error instanceof UwfError)) throw error;
        return renderText(<MessagePage title="This cannot be shown" text={error.message} again="/" />);
      }
    }
    throw new Error(`no page for ${url.pathname}`);
  }

  async #write(html: string, file: string): Promise<void> {
    const targets = new Map<string, Target>();
    for (const address of ownAddresses(html)) {
      if (!targets.has(address)) targets.set(address, await this.#targetOf(address));
    }
    const made = withoutIds(staticHtml(html, file, targets), this.#others);
    if (this.#redactor !== undefined) {
      for (const hit of hitsInText(this.#redactor, unescaped(made))) this.secrets.push({ file, ...hit });
    }
    this.#folder.write(file, made);
    this.count += 1;
  }

  /** Where an address leads; its page is written, too. */
  async #targetOf(address: string): Promise<Target> {
    const asked = new URL(address, ORIGIN);
    if (asked.pathname === '/') return { file: 'index.html', hash: '' };
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
