import { randomBytes } from 'node:crypto';
import type { Repository } from '../../src/git/repository.ts';
import type { ThreadId } from '../../src/thread/thread-id.ts';
import type { WebActions, WebOptions } from '../../src/web/site.ts';
import { createWebHandler } from '../../src/web/routes/create-web-handler.ts';

export const host = '127.0.0.1:7400';
const token = 'the-token-of-the-printed-address';

/** A browser of the page, as far as requests go. */
export type WebVisitor = {
  handler(request: Request): Promise<Response>;
  /** The cookie of its session; '' before it logs in. */
  cookie: string;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** Posts a form as our own page would. */
  post(path: string, form: Record<string, string>, headers?: Record<string, string>): Promise<Response>;
  /** A page once all threads that wait were looked for: until then it says so, and browsers load it again. */
  page(path: string): Promise<string>;
  /** The form token that a page carries. */
  formToken(path: string): Promise<string>;
};

/** A visitor who has shown nothing yet. */
export function stranger(repository: Repository, options: Partial<WebOptions> = {}): WebVisitor {
  const handler = createWebHandler(repository, { key: randomBytes(32), secret: { token }, ...options });
  const send = (path: string, init: RequestInit, headers: Record<string, string>): Promise<Response> => {
    const url = `http://${host}${path}`;
    return handler(
      new Request(url, { ...init, redirect: 'manual', headers: { host, cookie: visitor.cookie, ...headers } }),
    );
  };
  const visitor: WebVisitor = {
    handler,
    cookie: '',
    get: (path, headers = {}) => send(path, {}, headers),
    post: (path, form, headers = {}) => {
      const own = { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
      return send(path, { method: 'POST', body: new URLSearchParams(form) }, { ...own, ...headers });
    },
    async page(path) {
      for (;;) {
        const page = await (await visitor.get(path)).text();
        if (!page.includes('Looking for')) return page;
      }
    },
    async formToken(path) {
      const page = await visitor.page(path);
      return /name="form" value="([0-9a-f]+)"/.exec(page)?.[1] ?? '';
    },
  };
  return visitor;
}

/** A visitor who is logged in. */
export async function visitorOf(repository: Repository, options: Partial<WebOptions> = {}): Promise<WebVisitor> {
  const visitor = stranger(repository, options);
  const response = await visitor.post('/login', { secret: token, to: '/' });
  visitor.cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
  return visitor;
}

/** Actions that only note what they were asked for. */
export function notingActions(noted: unknown[][]): WebActions {
  const note =
    <T>(name: string, result: T) =>
    (...given: unknown[]): Promise<T> => {
      noted.push([name, ...given]);
      return Promise.resolve(result);
    };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- No thread needs to have it.
  const thread = '01KAM4000000000000000000NEW' as ThreadId;
  const answer = { thread, role: 'coder', step: 'STEP', agent: 'bot', isSession: true, text: 'Because.' };
  return {
    resume: note('resume', undefined),
    poke: note('poke', undefined),
    fork: note('fork', thread),
    ask: note('ask', answer),
    cancel: note('cancel', undefined),
    stop: note('stop', undefined),
    start: note('start', thread),
  };
}

/** What the hidden fields of the form that answers carry. */
export function hiddenIn(page: string): Record<string, string> {
  const fields = page.matchAll(/<input type="hidden" name="(form|head|asked)" value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, value]));
}
