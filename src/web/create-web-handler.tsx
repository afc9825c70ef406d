import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { getCookie, setCookie } from 'hono/cookie';
import { streamSSE } from 'hono/streaming';
import type { Html } from './html.ts';
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createEngineContext } from '../engine/engine-context.ts';
import { UwfError } from '../errors.ts';
import { formatCount } from '../format-time.ts';
import { packageRoot } from '../package-root.ts';
import type { Repository } from '../git/repository.ts';
import { getThread } from '../thread/find/find-thread.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { checkRequest } from './guard/check-request.ts';
import { securityHeaders } from './guard/security-headers.ts';
import { areSame, Sessions } from './guard/session.ts';
import { Live, shownIn } from './live/live.ts';
import { inboxPage } from './pages/inbox-page.tsx';
import { LoginPage } from './pages/login-page.tsx';
import { MessagePage } from './pages/message-page.tsx';
import { threadPage } from './pages/thread-page.tsx';
import { threadsPage } from './pages/threads-page.tsx';
import type { Site, Visit, WebActions } from './site.ts';

/** What a handler of the page needs. */
export type WebOptions = {
  repository: Repository;
  /** Seals the sessions of browsers: 32 random bytes that stay the same for as long as they are to be logged in. */
  key: Uint8Array;
  /** What a visitor shows to be logged in. */
  secret: { token: string } | { password: string };
  /** The name of the cookie. Cookies ignore ports, so it names the repository and the port. Default: `uwf` */
  cookie?: string;
  /** Names that the server is reached by, besides those of loopback. */
  hosts?: readonly string[];
  /** What visitors may do; the pages only show where it is absent. */
  actions?: WebActions;
};

/** Answers requests for the page. */
export type WebHandler = {
  fetch(request: Request): Promise<Response>;
  /** Ends the streams of all browsers. */
  close(): void;
};

/** The longest form: an answer. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_LOGIN_BYTES = 16 * 1024;
const HEARTBEAT_MS = 15_000;
/** A browser has one stream, whatever tabs it has. */
const MAX_STREAMS = 100;
/** Who guesses passwords waits so long for each. */
const WRONG_SECRET_MS = 500;

const assetTypes: Readonly<Record<string, string>> = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'stream-worker.js': 'text/javascript; charset=utf-8',
};

/**
 * Makes the page of a repository, as a function from requests to responses, for any server that speaks them.
 *
 * It runs no agent and reads no configuration; what visitors may do is handed in.
 */
export function createWebHandler(options: WebOptions): WebHandler {
  const { repository, key, secret, cookie = 'uwf', hosts = [], actions } = options;
  const engine = createEngineContext({ repository, config: { agents: {}, roles: {} } });
  const site: Site = { engine, name: nameOf(repository), actions };
  const sessions = new Sessions(key, repository.now);
  const live = new Live(engine);
  const closing = new AbortController();
  const app = new Hono();

  app.use(async (context, next) => {
    const refusal = checkRequest(context.req.raw, hosts);
    if (refusal === undefined) await next();
    else {
      const again = context.req.method === 'GET' && refusal.status === 403 ? context.req.path : undefined;
      const page = <MessagePage title="Refused" text={refusal.reason} again={again} />;
      context.res = await context.html(page, refusal.status);
    }
    for (const [name, value] of Object.entries(securityHeaders)) context.res.headers.set(name, value);
  });
  const limited = (maxSize: number): MiddlewareHandler => {
    const text = `A form has at most ${formatCount(maxSize)} bytes.`;
    return bodyLimit({
      maxSize,
      onError: (context) => context.html(<MessagePage title="Too large" text={text} />, 413),
    });
  };

  for (const [name, type] of Object.entries(assetTypes)) {
    app.get(`/assets/${name}`, (context) => {
      context.header('Content-Type', type);
      return context.body(readFileSync(join(packageRoot(), 'dist', 'web', name)));
    });
  }

  app.get('/login', (context) => {
    return context.html(<LoginPage to={localPath(context.req.query('to'))} byPassword={'password' in secret} />);
  });
  let lastWrong: Promise<unknown> = Promise.resolve();
  app.post('/login', limited(MAX_LOGIN_BYTES), async (context) => {
    const form = await context.req.parseBody();
    const given = typeof form['secret'] === 'string' ? form['secret'] : '';
    const to = localPath(typeof form['to'] === 'string' ? form['to'] : undefined);
    if (!areSame(given, 'password' in secret ? secret.password : secret.token)) {
      // One guess after the other, whoever makes them.
      lastWrong = lastWrong.then(() => pause(WRONG_SECRET_MS));
      await lastWrong;
      return context.html(<LoginPage to={to} byPassword={'password' in secret} isWrong />, 403);
    }
    setCookie(context, cookie, sessions.open(), {
      httpOnly: true,
      sameSite: 'Strict',
      path: '/',
      maxAge: 30 * 24 * 60 * 60,
    });
    return context.redirect(to, 303);
  });

  const sessionOf = (context: Context): string | undefined => sessions.find(getCookie(context, cookie));
  app.use(async (context, next) => {
    if (sessionOf(context) !== undefined) return next();
    const { method, path } = context.req;
    if (method === 'GET' && path !== '/live')
      return context.redirect(
        `/login?${new URLSearchParams({ to: path + new URL(context.req.url).search }).toString()}`,
        303,
      );
    return context.html(<MessagePage title="Not logged in" text="Log in first." again="/login" />, 401);
  });

  // What a stranger sends is not read so far.
  app.use(limited(MAX_BODY_BYTES));

  const visitOf = (context: Context): Visit => ({
    site,
    url: new URL(context.req.url),
    nowMs: repository.now(),
    formToken: sessions.formToken(sessionOf(context) ?? ''),
  });
  /** Does what a form asks for, and shows the thread; a form that is not one of ours does nothing. */
  const action = (
    path: string,
    act: (actions: WebActions, thread: ThreadId, form: URLSearchParams) => Promise<void>,
  ): void => {
    app.post(path, async (context) => {
      if (actions === undefined)
        throw new UwfError('this page only shows', {
          code: 'read-only',
          kind: 'refused',
          hint: "'uwf web --write' lets visitors act",
        });
      const form = new URLSearchParams(await context.req.text());
      if (!sessions.isFormToken(sessionOf(context) ?? '', form.get('form'))) {
        throw new UwfError('the form is not from this page, or is old', {
          code: 'foreign-form',
          kind: 'refused',
          hint: 'load the page again',
        });
      }
      const { id, head } = await getThread(repository, context.req.param('thread') ?? '');
      // What was seen when the answer was written has changed: that is said, and nothing is done.
      if (form.has('head') && form.get('head') !== head) throw new ThreadMovedOn(id);
      await act(actions, id, form);
      return context.redirect(`/t/${id}`, 303);
    });
  };
  const page = (path: string, make: (visit: Visit, context: Context) => Promise<Html>): void => {
    app.get(path, async (context) => context.html(await make(visitOf(context), context)));
  };
  page('/', threadsPage);
  page('/inbox', inboxPage);
  page('/t/:thread', (visit, context) => threadPage(visit, context.req.param('thread') ?? ''));

  action('/t/:thread/resume', (act, thread, form) => act.resume(thread, { answer: form.get('answer') || undefined }));

  app.get('/live', (context) => {
    if (live.streams >= MAX_STREAMS) return context.text('too many streams are open', 503);
    const shown = shownIn(new URL(context.req.url).searchParams);
    return streamSSE(context, async (stream) => {
      const ended = new AbortController();
      const signal = AbortSignal.any([ended.signal, closing.signal]);
      stream.onAbort(() => ended.abort());
      const send = (event: string, data: string): void =>
        void stream.writeSSE({ event, data }).catch(() => ended.abort());
      live.open(shown, (event) => send(event.event, JSON.stringify(event)), signal);
      while (!signal.aborted) {
        send('beat', '');
        await pause(HEARTBEAT_MS, signal);
      }
    });
  });

  app.notFound((context) =>
    context.html(<MessagePage title="Not found" text="There is no such page." again="/" />, 404),
  );
  app.onError((error, context) => {
    const { status, hint } = explain(error);
    const text = error.message;
    return context.html(
      <MessagePage title={status === 404 ? 'Not found' : 'This did not work'} text={text} hint={hint} />,
      status,
    );
  });

  return {
    fetch: async (request) => app.fetch(request),
    close: () => closing.abort(),
  };
}

/** The thread has gone on since its form was shown. */
class ThreadMovedOn extends UwfError {
  constructor(thread: ThreadId) {
    super(`thread ${thread} has gone on since you opened its form; nothing was changed`, {
      code: 'thread-moved',
      kind: 'conflict',
      hint: 'another person may have answered: look at the thread again',
    });
  }
}

/** How an error is told: uwf's own ones by their kind. */
function explain(error: Error): { status: 400 | 403 | 404 | 409 | 500; hint?: string | undefined } {
  if (!(error instanceof UwfError)) return { status: 500 };
  const { code, kind, hint } = error;
  if (code.endsWith('-not-found')) return { status: 404, hint };
  if (kind === 'refused') return { status: 403, hint };
  if (kind === 'conflict') return { status: 409, hint };
  return { status: kind === 'usage' ? 400 : 500, hint };
}

/** A path of this server; `/` for an address that leads elsewhere. */
function localPath(to: string | undefined): string {
  const base = 'http://localhost';
  const url = URL.canParse(to ?? '/', base) ? new URL(to ?? '/', base) : undefined;
  return url?.origin === base ? `${url.pathname}${url.search}` : '/';
}

function nameOf({ location }: Repository): string {
  if (location === undefined) return 'repository';
  const { workTree, commonDir } = location;
  return basename(workTree ?? (basename(commonDir) === '.git' ? dirname(commonDir) : commonDir));
}

function pause(durationMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, durationMs);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
