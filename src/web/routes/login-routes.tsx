import { setTimeout as sleep } from 'node:timers/promises';
import { getCookie, setCookie } from 'hono/cookie';
import { MessagePage } from '../pages/message-page.tsx';
import { Document, type Html } from '../parts/page.tsx';
import type { LoginSecret } from '../site.ts';
import { areSame, limitBody, localPath, type Sessions, type WebApp } from './guard-routes.tsx';

const MAX_LOGIN_BYTES = 16 * 1024;
/** How long the answer to a wrong secret takes, so that guessing is slow. */
const WRONG_SECRET_MS = 500;

/**
 * Logs visitors in, and sends the others to where that is done: what is added to the app after this is for visitors who are
 * logged in.
 * @param cookie its name
 */
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
