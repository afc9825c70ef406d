import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { getCookie, setCookie } from 'hono/cookie';
import { TurnNotFound } from '../../engine/describe/find-turn.ts';
import { UwfError } from '../../errors.ts';
import { formatCount } from '../../text/wording.ts';
import { MessagePage } from '../pages/message-page.tsx';
import { Document, type Html } from '../parts/page.tsx';
import type { LoginSecret, Visit } from '../site.ts';

/** What a request has after the login was checked: the browser's session. */
type WebEnv = { Variables: { session: string } };

export type WebApp = Hono<WebEnv>;
export type WebContext = Context<WebEnv>;

/** Makes the visit of a request: what pages need to know of it. */
export type VisitOf = (context: WebContext) => Visit;

/** What every answer carries. Scripts and styles are files of ours; nothing is loaded from elsewhere. */
const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
};

/** Refuses requests of other sites, and gives every answer its headers. `hosts`: its names besides those of loopback. */
export function addGuard(app: WebApp, hosts: readonly string[]): void {
  app.use(async (context, next) => {
    const refusal = checkRequest(context.req.raw, hosts);
    if (refusal === undefined) await next();
    else {
      const { method, path, url } = context.req;
      const again = method === 'GET' && refusal.status === 403 ? localPath(path + new URL(url).search) : undefined;
      const page = <MessagePage title="Refused" text={refusal.reason} again={again} />;
      context.res = await context.html(page, refusal.status);
    }
    for (const [name, value] of Object.entries(securityHeaders)) context.res.headers.set(name, value);
  });
}

/** Refuses a form that is longer. */
export function limitBody(maxSize: number): MiddlewareHandler {
  const text = `A form has at most ${formatCount(maxSize)} bytes.`;
  return bodyLimit({
    maxSize,
    onError: (context) => context.html(<MessagePage title="Too large" text={text} />, 413),
  });
}

export function addFailures(app: WebApp): void {
  app.notFound((context) =>
    context.html(<MessagePage title="Not found" text="There is no such page." again="/" />, 404),
  );
  app.onError((error, context) => answerFailure(context, error));
}

/** Tells of an error, and shows what was `typed` into a form that did nothing, so that it is not lost. */
export function answerFailure(
  context: WebContext,
  error: unknown,
  { typed, again = '/' }: { typed?: URLSearchParams; again?: string } = {},
): Response | Promise<Response> {
  const { status, hint } = explain(error);
  const title = status === 404 ? 'Not found' : status === 409 ? 'Someone else was faster' : 'This did not work';
  const text = error instanceof Error ? error.message : String(error);
  return context.html(<MessagePage title={title} text={text} hint={hint} typed={typed} again={again} />, status);
}

/** What a user has to correct in a workflow file. */
const ofWorkflowFiles: readonly string[] = ['invalid-workflow', 'source-unreadable'];

/** How an error is told: uwf's own ones by their kind. */
function explain(error: unknown): { status: 400 | 403 | 404 | 409 | 500; hint?: string | undefined } {
  if (!(error instanceof UwfError)) return { status: 500 };
  const { code, kind, hint } = error;
  if (code.endsWith('-not-found') || error instanceof TurnNotFound) return { status: 404, hint };
  if (kind === 'refused' || code === 'not-trusted') return { status: 403, hint };
  if (kind === 'conflict') return { status: 409, hint };
  const isUsers = kind === 'usage' || kind === 'agent' || ofWorkflowFiles.includes(code);
  return { status: isUsers ? 400 : 500, hint };
}

/** A path of this server, with its query; `/` for an address that leads elsewhere. */
function localPath(to: string): string {
  const base = 'http://localhost';
  const url = URL.canParse(to, base) ? new URL(to, base) : undefined;
  // A browser reads a path that begins with two slashes as a host, and `/.//host` becomes such a path.
  return url?.origin === base && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}` : '/';
}

const SESSION_MS = 30 * 24 * 60 * 60 * 1000;

/** What a cookie holds: an id of the browser's session, and when it ends (ms since 1970), sealed with the server's key. */
const COOKIE = /^([0-9a-f]{32})\.(\d{1,16})\.([0-9a-f]{64})$/;

/** Sessions of browsers without a list: a cookie is its own proof, so browsers stay logged in when the server starts again. */
export class Sessions {
  readonly #key: Uint8Array;
  readonly #now: () => number;

  /** @param key of this user, repository and port; who has it can make sessions */
  constructor(key: Uint8Array, now: () => number) {
    this.#key = key;
    this.#now = now;
  }

  /** The value of a cookie for a browser that has shown who it is. */
  open(): string {
    const claims = `${randomBytes(16).toString('hex')}.${this.#now() + SESSION_MS}`;
    return `${claims}.${this.#seal('session', claims)}`;
  }

  /** The id of the session that a cookie proves; `undefined` if it is forged, or over. */
  find(cookie: string | undefined): string | undefined {
    const [, id = '', ends = '', seal = ''] = COOKIE.exec(cookie ?? '') ?? [];
    if (!areSame(seal, this.#seal('session', `${id}.${ends}`)) || Number(ends) < this.#now()) return undefined;
    return id;
  }

  /** What a form has to carry to be one of ours: a page of another site cannot read it. */
  formToken(session: string): string {
    return this.#seal('form', session);
  }

  isFormToken(session: string, token: unknown): boolean {
    return typeof token === 'string' && areSame(token, this.formToken(session));
  }

  #seal(use: 'session' | 'form', claims: string): string {
    return createHmac('sha256', this.#key).update(`${use}\n${claims}`).digest('hex');
  }
}

/** Compares secrets in a time that does not tell where they differ. */
function areSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHmac('sha256', 'compare').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}

type ForbiddenRequest = { status: 403 | 421; reason: string };

/** Names of this machine. Their port may be any: `ssh -L` forwards another one. */
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Refuses requests that another site made a browser send, reads too.
 *
 * A browser sends `Host` as the user typed it: a name of another site that was rebound to this address is not one of
 * ours. It sends `Sec-Fetch-Site` and, with what may write, `Origin`, which scripts cannot set; a page of another loopback
 * port is `same-site`, and refused.
 * Source: Fetch Metadata Request Headers (W3C), OWASP Cross-Site Request Forgery Prevention.
 * @param hosts names that the server was told to serve besides those of loopback, lower case, without a port
 */
function checkRequest(request: Request, hosts: readonly string[]): ForbiddenRequest | undefined {
  const host = request.headers.get('host')?.toLowerCase() ?? '';
  const name = host.replace(/:\d+$/, '');
  // A name of another site can be made to lead here; an address cannot.
  const isAddress = hosts.length > 0 && (isIPv4(name) || /^\[[0-9a-f:.]+\]$/.test(name));
  if (!LOOPBACK.has(name) && !isAddress && !hosts.includes(name)) {
    return { status: 421, reason: `this server does not serve '${host.slice(0, 100)}'; open the address it printed` };
  }
  const site = request.headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') {
    return { status: 403, reason: 'another page asked for this; open the address itself' };
  }
  const origin = request.headers.get('origin');
  if (origin !== null && origin.toLowerCase() !== `http://${host}` && origin.toLowerCase() !== `https://${host}`) {
    return { status: 403, reason: 'another site sent this' };
  }
  return undefined;
}

const MAX_LOGIN_BYTES = 16 * 1024;
/** How long the answer to a wrong secret takes, so that guessing is slow. */
const WRONG_SECRET_MS = 500;

/** Logs visitors in, and sends others to the login: what is added to the app after this is for those who are logged in. */
export function addLogin(app: WebApp, sessions: Sessions, secret: LoginSecret, cookie: string): void {
  app.get('/login', (context) => {
    return context.html(<LoginPage to={localPath(context.req.query('to') ?? '/')} byPassword={'password' in secret} />);
  });
  let once = 'token' in secret ? secret.once : undefined;
  let lastWrong: Promise<unknown> = Promise.resolve();
  app.post('/login', limitBody(MAX_LOGIN_BYTES), async (context) => {
    const form = await context.req.parseBody();
    const given = typeof form['secret'] === 'string' ? form['secret'] : '';
    const to = localPath(typeof form['to'] === 'string' ? form['to'] : '/');
    const isOnce = once !== undefined && areSame(given, once);
    if (isOnce) once = undefined;
    if (!isOnce && !areSame(given, 'password' in secret ? secret.password : secret.token)) {
      // Guesses are answered one after the other, those of all visitors together.
      lastWrong = lastWrong.then(() => sleep(WRONG_SECRET_MS));
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

  app.use(async (context, next) => {
    const session = sessions.find(getCookie(context, cookie));
    if (session !== undefined) {
      context.set('session', session);
      return next();
    }
    const { method, path, url } = context.req;
    if (method === 'GET' && path !== '/live') {
      const to = new URLSearchParams({ to: path + new URL(url).search });
      return context.redirect(`/login?${to.toString()}`, 303);
    }
    return context.html(<MessagePage title="Not logged in" text="Log in first." again="/login" />, 401);
  });
}

type LoginProps = {
  /** The page to go to, a path of this server. */
  to: string;
  byPassword: boolean;
  /** After a wrong token or password. */
  isWrong?: boolean;
};

/**
 * Asks for the token of the printed address, or for the password. With JavaScript the token is taken from the address's
 * fragment, which a browser sends to no server.
 */
function LoginPage({ to, byPassword, isWrong = false }: LoginProps): Html {
  const [name, help, wrong] = byPassword
    ? ['Password', 'The password that uwf web was started with.', 'That is not the password.']
    : [
        'Token',
        'The part behind #token= of the address that uwf web printed.',
        'That is not the token. uwf web prints a new one each time it starts.',
      ];
  return (
    <Document title="Log in · uwf">
      <main id="main" class="alone">
        <h1>Log in</h1>
        <form method="post" action="/login" id="login">
          <input type="hidden" name="to" value={to} />
          <label for="secret">{name}</label>
          <input
            id="secret"
            name="secret"
            type="password"
            autocomplete={byPassword ? 'current-password' : 'off'}
            required
            aria-describedby="secret-help"
          />
          <p id="secret-help" class="quiet">
            {help}
          </p>
          {isWrong && (
            <p class="refusal" role="alert">
              {wrong}
            </p>
          )}
          <button type="submit">Log in</button>
        </form>
      </main>
    </Document>
  );
}
