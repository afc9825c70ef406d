import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { formatCount } from '../../format-time.ts';
import { checkRequest } from '../guard/check-request.ts';
import { MessagePage } from '../pages/message-page.tsx';
import { localPath } from './local-path.ts';
import type { WebApp } from './web-app.ts';

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

/**
 * Refuses requests of other sites, and gives every answer its headers.
 * @param hosts names that the server is reached by, besides those of loopback
 */
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
