import { setTimeout as sleep } from 'node:timers/promises';
import { getCookie, setCookie } from 'hono/cookie';
import type { LoginSecret } from '../web-options.ts';
import { areSame, type Sessions } from '../guard/session.ts';
import { LoginPage } from '../pages/login-page.tsx';
import { MessagePage } from '../pages/message-page.tsx';
import { limitBody, localPath } from './guard-routes.tsx';
import type { WebApp } from './web-app.ts';

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
