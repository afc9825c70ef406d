import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** How long a browser stays logged in. */
const SESSION_MS = 30 * 24 * 60 * 60 * 1000;

/** What a cookie holds: an id of the browser's session, and when it ends (ms since 1970), sealed with the server's key. */
const COOKIE = /^([0-9a-f]{32})\.(\d{1,16})\.([0-9a-f]{64})$/;

/**
 * Sessions of browsers, without a list of them: a cookie is its own proof, so that a server that starts again knows the
 * browsers that were logged in.
 */
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
export function areSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHmac('sha256', 'compare').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}

/** Why a request is refused: what the page says, in a sentence. */
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
 *
 * @param hosts names that the server was told to serve besides those of loopback, lower case, without a port
 */
export function checkRequest(request: Request, hosts: readonly string[]): ForbiddenRequest | undefined {
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
