import { isIPv4 } from 'node:net';

/** Why a request is refused: what the page says, in a sentence. */
export type ForbiddenRequest = { status: 403 | 421; reason: string };

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
