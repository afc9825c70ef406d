import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Service } from './advertisement.ts';
import { BrokenAnswer } from './broken-answer.ts';
import { printable } from '../printable.ts';

/** Who asks to be let in, by basic authentication (RFC 7617). */
export type BasicCredentials = { username: string; password: string };

/**
 * Asked for credentials when a server wants some; `undefined` gives up.
 *
 * `url` is that of the server that asks, without credentials; `attempt` counts from 1, and is more than that after the
 * server did not take what was given before.
 */
export type AskForCredentials = (question: {
  url: string;
  attempt: number;
}) => BasicCredentials | undefined | Promise<BasicCredentials | undefined>;

/** What a request carries: its length is known before, and the bytes can be given again. */
export type RequestBody = { byteLength: number; chunks(): Iterable<Uint8Array> };

export type ConnectionOptions = {
  credentials?: BasicCredentials | undefined;
  onAuth?: AskForCredentials | undefined;
  signal?: AbortSignal | undefined;
  /** How long nothing may come or go before the connection counts as broken. git's servers say something every 5 s. */
  idleTimeoutMs?: number | undefined;
};

const defaultIdleTimeoutMs = 120_000;
/** As many as git follows by default (`http.c`, CURLOPT_MAXREDIRS). */
const mostRedirects = 20;
const mostAttempts = 3;
const longestComplaint = 4_096;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * One conversation with the smart HTTP server of a repository: a list of refs, then what is asked for or sent.
 *
 * Redirects are followed for the list only, to `http` and `https` and never from the safe one to the other, and lead what
 * follows to the same place; credentials are for the server they were given for and no other one. `close` ends it.
 * Source: gitprotocol-http(5); git-config(1), `http.followRedirects=initial`.
 */
export class HttpConnection {
  #url: string;
  readonly #options: ConnectionOptions;
  #authorization: { origin: string; header: string } | undefined;
  readonly #agents: { 'http:': HttpAgent; 'https:': HttpsAgent };

  /** @param url without credentials and without a slash at its end */
  constructor(url: string, options: ConnectionOptions) {
    this.#url = url;
    this.#options = options;
    if (options.credentials !== undefined) this.#authorize(url, options.credentials);
    this.#agents = { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) };
  }

  /** Asks for the list of refs. @throws {BrokenAnswer} if that is not what comes, or what Node says of the network */
  async list(service: Service): Promise<IncomingMessage> {
    const tail = `/info/refs${this.#url.includes('?') ? '&' : '?'}service=${service}`;
    for (let count = 0; count <= mostRedirects; count += 1) {
      const answer = await this.#ask(`${this.#url}${tail}`, 'GET', {});
      if (!redirects.has(answer.statusCode ?? 0)) return expectKind(answer, `application/x-${service}-advertisement`);
      answer.destroy();
      this.#url = redirectedTo(this.#url, answer.headers.location ?? '', tail);
    }
    throw new BrokenAnswer('it redirects for ever');
  }

  /** Sends a request of the protocol and gives the answer's bytes. @throws {BrokenAnswer} as `list` does */
  async post(service: Service, body: RequestBody): Promise<IncomingMessage> {
    const headers = {
      'Content-Type': `application/x-${service}-request`,
      Accept: `application/x-${service}-result`,
      'Content-Length': String(body.byteLength),
    };
    const answer = await this.#ask(`${this.#url}/${service}`, 'POST', headers, body);
    return expectKind(answer, `application/x-${service}-result`);
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  async #ask(
    url: string,
    method: 'GET' | 'POST',
    headers: Readonly<Record<string, string>>,
    body?: RequestBody,
  ): Promise<IncomingMessage> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#send(url, method, headers, body);
      if (answer.statusCode !== 401) return answer;
      answer.destroy();
      const credentials =
        attempt <= mostAttempts ? await this.#options.onAuth?.({ url: this.#url, attempt }) : undefined;
      if (credentials === undefined) {
        throw new BrokenAnswer(
          this.#authorizationFor(url) === undefined
            ? 'it asks for a user name and a password'
            : 'it did not take the user name and the password',
        );
      }
      this.#authorize(this.#url, credentials);
    }
  }

  async #send(
    url: string,
    method: 'GET' | 'POST',
    headers: Readonly<Record<string, string>>,
    body: RequestBody | undefined,
  ): Promise<IncomingMessage> {
    const { signal, idleTimeoutMs = defaultIdleTimeoutMs } = this.#options;
    signal?.throwIfAborted();
    const authorization = this.#authorizationFor(url);
    const isSafe = new URL(url).protocol === 'https:';
    const options: RequestOptions = {
      method,
      agent: isSafe ? this.#agents['https:'] : this.#agents['http:'],
      headers: {
        // Hosts tell git from a browser by the beginning of this.
        'User-Agent': 'git/uwf',
        'Accept-Encoding': 'identity',
        ...(authorization !== undefined && { Authorization: authorization }),
        ...headers,
      },
      timeout: idleTimeoutMs,
      ...(signal && { signal }),
    };
    const request = (isSafe ? requestHttps : requestHttp)(url, options);
    const answer = new Promise<IncomingMessage>((resolve, reject) => {
      let stream: { destroy(error: Error): unknown } = request;
      request.on('response', (response) => {
        stream = response;
        resolve(response);
      });
      request.on('error', reject);
      request.on('timeout', () =>
        stream.destroy(new BrokenAnswer(`nothing came for ${Math.round(idleTimeoutMs / 1000)} s`)),
      );
    });
    if (body === undefined) request.end();
    else {
      // An answer that comes before everything was sent counts; why sending stopped is then of no interest.
      pipeline(Readable.from(body.chunks(), { objectMode: false }), request).catch(() => {});
    }
    return answer;
  }

  #authorize(url: string, { username, password }: BasicCredentials): void {
    const header = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    this.#authorization = { origin: new URL(url).origin, header };
  }

  #authorizationFor(url: string): string | undefined {
    return this.#authorization?.origin === new URL(url).origin ? this.#authorization.header : undefined;
  }
}

function redirectedTo(from: string, location: string, tail: string): string {
  const to = URL.canParse(location, from) ? new URL(location, from) : undefined;
  if (to === undefined || !/^https?:$/.test(to.protocol))
    throw new BrokenAnswer('it redirects to what is no web address');
  if (to.protocol === 'http:' && new URL(from).protocol === 'https:') {
    throw new BrokenAnswer(`it redirects to ${printable(to.origin)}, which is not safe`);
  }
  to.username = '';
  to.password = '';
  to.hash = '';
  if (!to.href.endsWith(tail)) throw new BrokenAnswer(`it redirects to ${printable(to.href)}, which is no repository`);
  return to.href.slice(0, -tail.length);
}

async function expectKind(answer: IncomingMessage, contentType: string): Promise<IncomingMessage> {
  const { statusCode = 0 } = answer;
  if (statusCode === 200 && answer.headers['content-type'] === contentType) return answer;
  const complaint = await startOf(answer);
  if (statusCode === 200) throw new BrokenAnswer("it is no server of git's (or one of the dumb kind)");
  const words = { 401: 'not authorised', 403: 'forbidden', 404: 'there is no repository' }[statusCode];
  throw new BrokenAnswer([words ?? `it answers ${statusCode}`, complaint].filter(Boolean).join(': '));
}

/** What a server says in plain text beside its refusal. */
async function startOf(answer: IncomingMessage): Promise<string> {
  if (answer.headers['content-type']?.startsWith('text/plain') !== true) {
    answer.destroy();
    return '';
  }
  let text = '';
  for await (const chunk of answer) {
    // Without an encoding a response gives buffers.
    text += (chunk as Buffer).toString('utf8');
    if (text.length > longestComplaint) break;
  }
  return printable(text);
}
