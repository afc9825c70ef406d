import { Hono } from 'hono';
import { basename, dirname } from 'node:path';
import { createEngineContext } from '../engine/engine-context.ts';
import type { GitEnvironment, Repository } from '../git/repository.ts';
import { Sessions } from './guard/session.ts';
import { Live } from './live/live.ts';
import { WaitingThreads } from './live/waiting-threads.ts';
import { addActions } from './routes/action-routes.tsx';
import { addAssets } from './routes/asset-routes.ts';
import { addFailures } from './routes/failure-routes.tsx';
import { addGuard } from './routes/guard-routes.tsx';
import { addLive } from './routes/live-route.ts';
import { addLogin, type LoginSecret } from './routes/login-routes.tsx';
import { addPages } from './routes/page-routes.ts';
import type { VisitOf, WebApp } from './routes/web-app.ts';
import type { Site, WebActions } from './site.ts';

/** What a handler of the page needs. */
export type WebOptions = {
  repository: Repository;
  /** Seals the sessions of browsers: 32 random bytes that stay the same for as long as they are to be logged in. */
  key: Uint8Array;
  /** What a visitor shows to be logged in. */
  secret: LoginSecret;
  /** The name of the cookie. Cookies ignore ports, so it names the repository and the port. Default: `uwf` */
  cookie?: string;
  /** Names that the server is reached by, besides those of loopback. */
  hosts?: readonly string[];
  /** The environment that git runs in; default: empty. */
  env?: GitEnvironment;
  /** What visitors may do; the pages only show where it is absent. */
  actions?: WebActions;
};

/** Answers requests for the page. */
export type WebHandler = {
  fetch(request: Request): Promise<Response>;
  /** Ends the streams of all browsers. */
  close(): void;
};

/**
 * Makes the page of a repository, as a function from requests to responses, for any server that speaks them.
 *
 * It runs no agent and reads no configuration; what visitors may do is handed in.
 */
export function createWebHandler(options: WebOptions): WebHandler {
  const { repository, key, secret, cookie = 'uwf', hosts = [], env = {}, actions } = options;
  const engine = createEngineContext({ repository, env, config: { agents: {}, roles: {} } });
  const site: Site = { engine, waiting: new WaitingThreads(engine), name: repositoryName(repository), actions };
  const sessions = new Sessions(key, repository.now);
  const closing = new AbortController();
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
  addActions(app, visitOf, sessions);
  addPages(app, visitOf);
  addLive(app, new Live(engine, site.waiting), closing.signal);
  addFailures(app);
  return {
    fetch: async (request) => app.fetch(request),
    close: () => closing.abort(),
  };
}

/** What a repository is called in titles: its folder. */
export function repositoryName({ location }: Repository): string {
  if (location === undefined) return 'repository';
  const { workTree, commonDir } = location;
  return basename(workTree ?? (basename(commonDir) === '.git' ? dirname(commonDir) : commonDir));
}
