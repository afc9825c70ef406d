import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { TurnNotFound } from '../../engine/describe/find-turn.ts';
import { UwfError } from '../../errors.ts';
import { formatCount } from '../../format-time.ts';
import { checkRequest } from '../guard/session.ts';
import { MessagePage } from '../pages/message-page.tsx';
import type { WebApp, WebContext } from './web-app.ts';

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

/** What is said where there is no page, and where one fails. */
export function addFailures(app: WebApp): void {
  app.notFound((context) =>
    context.html(<MessagePage title="Not found" text="There is no such page." again="/" />, 404),
  );
  app.onError((error, context) => answerFailure(context, error));
}

/**
 * Tells of an error.
 * @param typed what was typed into the form that did nothing: it is shown, so that it is not lost
 * @param again where to look again; default: the list of threads
 */
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
export function localPath(to: string): string {
  const base = 'http://localhost';
  const url = URL.canParse(to, base) ? new URL(to, base) : undefined;
  // A browser reads a path that begins with two slashes as a host, and `/.//host` becomes such a path.
  return url?.origin === base && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}` : '/';
}
