import { Hono } from 'hono';
import { randomBytes } from 'node:crypto';
import { prepareHashing } from '../../cas/hash.ts';
import { createEngineContext } from '../../engine/engine-context.ts';
import { assertThere } from '../../git/repository/git-directory.ts';
import type { Repository } from '../../git/repository.ts';
import { createRedactor } from '../../redaction/create-redactor.ts';
import { SecretScan } from '../../thread/secret-scan.ts';
import type { WebOptions } from '../web-options.ts';
import { Sessions } from '../guard/session.ts';
import { Live } from '../live/live.ts';
import { WaitingThreads } from '../live/waiting-threads.ts';
import { repositoryName, type Site } from '../site.ts';
import { addActions } from './action-routes.tsx';
import { addAssets } from './asset-routes.ts';
import { addFailures } from './failure-routes.tsx';
import { addGuard } from './guard-routes.tsx';
import { addLive } from './live-route.ts';
import { addLogin } from './login-routes.tsx';
import { addPages } from './page-routes.ts';
import type { VisitOf, WebApp } from './web-app.ts';

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
