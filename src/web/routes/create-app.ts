import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { prepareHashing } from '../../cas/hash.ts';
import { createEngineContext } from '../../engine/engine-context.ts';
import type { Repository } from '../../git/repository.ts';
import { assertThere } from '../../git/repository/git-directory.ts';
import { packageRoot } from '../../git/system/process-identity.ts';
import { createRedactor } from '../../redaction/create-redactor.ts';
import { SecretScan } from '../../thread/secret-scan.ts';
import { addFailures, addGuard, addLogin, Sessions, type VisitOf, type WebApp } from './guard-routes.tsx';
import type { Html } from '../parts/page.tsx';
import { Live, shownIn, WaitingThreads } from '../live/live.ts';
import { costPage } from '../pages/cost-page.tsx';
import { diffPage } from '../pages/diff-page.tsx';
import { inboxPage } from '../pages/inbox-page.tsx';
import { startPage } from '../pages/start-page.tsx';
import { stepPage } from '../pages/step-page.tsx';
import { stepText } from '../parts/story.tsx';
import { threadPage } from '../pages/thread-page.tsx';
import { threadsPage } from '../pages/threads-page.tsx';
import { workflowPage, workflowsPage } from '../pages/workflow-page.tsx';
import { repositoryName, type Site, type Visit, type WebOptions } from '../site.ts';
import { addActions } from './action-routes.tsx';

/** Makes all routes of the page; see `createWebHandler`. */
export async function createApp(repository: Repository, options: WebOptions): Promise<WebApp> {
  const { secret, key = randomBytes(32), cookie = 'uwf', hosts = [], env = {}, actions, signal } = options;
  await prepareHashing();
  const engine = createEngineContext({ repository, env, config: { agents: {}, roles: {} } });
  const redactor = options.redactor ?? createRedactor({ key: randomBytes(32), known: [], rules: [], allow: [] });
  const site: Site = {
    engine,
    waiting: new WaitingThreads(engine),
    name: repositoryName(repository),
    actions,
    secrets: { redactor, scan: new SecretScan(repository, redactor) },
  };
  const sessions = new Sessions(key, repository.now);
  const visitOf: VisitOf = (context) => ({
    site,
    url: new URL(context.req.url),
    nowMs: repository.now(),
    formToken: sessions.formToken(context.get('session')),
  });
  const app: WebApp = new Hono();
  addGuard(app, hosts);
  addAssets(app);
  addLogin(app, sessions, secret, cookie);
  app.use(async (_, next) => {
    assertThere(repository);
    await next();
  });
  addActions(app, visitOf, sessions);
  addPages(app, visitOf);
  addLive(app, new Live(engine, site.waiting), signal ?? new AbortController().signal);
  addFailures(app);
  return app;
}

const assetTypes: Readonly<Record<string, string>> = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'stream-worker.js': 'text/javascript; charset=utf-8',
};

function addAssets(app: WebApp): void {
  for (const [name, type] of Object.entries(assetTypes)) {
    app.get(`/assets/${name}`, (context) => {
      context.header('Content-Type', type);
      return context.body(readFileSync(join(packageRoot(), 'dist', 'web', name)));
    });
  }
}

type Page = (visit: Visit, parameter: (name: string) => string) => Promise<Html>;

const pages: Readonly<Record<string, Page>> = {
  '/': threadsPage,
  '/inbox': inboxPage,
  '/start': (visit) => startPage(visit),
  '/t/:thread': (visit, parameter) => threadPage(visit, parameter('thread')),
  '/t/:thread/:step': (visit, parameter) => stepPage(visit, parameter('thread'), parameter('step')),
  '/diff/:range': (visit, parameter) => diffPage(visit, parameter('range')),
  '/w': workflowsPage,
  '/w/:workflow': (visit, parameter) => workflowPage(visit, parameter('workflow')),
  '/cost': costPage,
};

function addPages(app: WebApp, visitOf: VisitOf): void {
  for (const [path, page] of Object.entries(pages)) {
    app.get(path, async (context) =>
      context.html(await page(visitOf(context), (name) => context.req.param(name) ?? '')),
    );
  }
  app.get('/t/:thread/:step/text', async (context) => {
    const { thread, step } = context.req.param();
    return context.text(await stepText(visitOf(context).site, thread, step));
  });
}

const HEARTBEAT_MS = 15_000;
/** A browser has one stream, whatever tabs it has. */
const MAX_STREAMS = 100;
/** A browser that reads nothing is let go when so much waits for it. It comes back with what it shows. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

/** The stream that tells a browser of changes, until `closing`. */
function addLive(app: WebApp, live: Live, closing: AbortSignal): void {
  app.get('/live', (context) => {
    // No client reads the stream of such a request, so it would never end.
    if (context.req.method === 'HEAD') return context.body(null);
    if (live.streams >= MAX_STREAMS) return context.text('too many streams are open', 503);
    const shown = shownIn(new URL(context.req.url).searchParams);
    return streamSSE(context, async (stream) => {
      const ended = new AbortController();
      const signal = AbortSignal.any([ended.signal, closing]);
      stream.onAbort(() => ended.abort());
      let unreadBytes = 0;
      const send = (event: string, data: string): void => {
        unreadBytes += data.length;
        if (unreadBytes > MAX_UNREAD_BYTES) ended.abort();
        const written = stream.writeSSE({ event, data });
        void written.then(() => (unreadBytes -= data.length)).catch(() => ended.abort());
      };
      live.open(shown, (event) => send(event.event, JSON.stringify(event)), signal);
      while (!signal.aborted) {
        send('beat', '');
        // It ends early where the stream does, and leaves no listener behind: a page is open for days.
        await sleep(HEARTBEAT_MS, undefined, { signal }).catch(() => undefined);
      }
    });
  });
}
