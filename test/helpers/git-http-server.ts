import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { isolatedGitEnvironment } from './temporary-repository.ts';

/** A request that was answered or cut off. */
export type ServedRequest = { method: string; path: string; received: number; sent: number };

/**
 * Breaks the connection after this many bytes of bodies in one direction, counted over all requests from then on, and
 * refuses further requests until the cut is cancelled, because curl retries by itself.
 */
export type Cut = { direction: 'up' | 'down'; afterBytes: number };

export type GitHttpServer = {
  /** The URL of a bare repository in the served folder. */
  urlOf(name: string): string;
  /** The requests since {@link GitHttpServer.forget}, oldest first. */
  readonly requests: readonly ServedRequest[];
  forget(): void;
  /** Requires these credentials from now on (basic authentication); `undefined` requires none. */
  requireCredentials(credentials: { user: string; password: string } | undefined): void;
  /** Sets a cut; `undefined` cancels it. */
  cut(cut: Cut | undefined): void;
  /** Returns whether the last cut has happened. */
  readonly hasCut: boolean;
  close(): Promise<void>;
};

/**
 * Serves the bare repositories of a folder over git's own smart HTTP (`git http-backend` as a CGI program).
 *
 * Every client may push, by `http.receivepack` of the repositories. Ends with the calling test.
 * Source: git-http-backend(1), RFC 3875.
 */
export async function startGitHttpServer(root: string): Promise<GitHttpServer> {
  const served = new ServedFolder(root);
  const server = createServer((request, response) => served.answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The server listens on TCP, so it has such an address.
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  try {
    onTestFinished(close);
  } catch {
    // Outside of a test, the caller closes it.
  }
  return {
    urlOf: (name) => `http://127.0.0.1:${port}/${name}`,
    get requests() {
      return served.requests;
    },
    forget: () => void (served.requests = []),
    requireCredentials: (credentials) => void (served.credentials = credentials),
    cut: (cut) => void (served.pendingCut = cut && { ...cut, seen: 0, done: false }),
    get hasCut() {
      return served.pendingCut?.done === true;
    },
    close,
  };
}

class ServedFolder {
  requests: ServedRequest[] = [];
  credentials: { user: string; password: string } | undefined;
  pendingCut: (Cut & { seen: number; done: boolean }) | undefined;
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const served: ServedRequest = { method: request.method ?? 'GET', path: url.pathname, received: 0, sent: 0 };
    this.requests.push(served);
    if (this.pendingCut?.done === true) {
      request.socket.destroy();
      return;
    }
    if (!this.#isLetIn(request)) {
      request.resume();
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const backend = spawn('git', ['http-backend'], {
      env: { ...isolatedGitEnvironment, ...cgiVariables(request, url, this.#root) },
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    // The whole group: http-backend is a child of git, and has children itself.
    response.once('close', () => endGroup(backend.pid));
    backend.stdin.on('error', () => {});
    request.on('data', (chunk: Buffer) => {
      served.received += chunk.length;
      const part = this.#uncut(chunk, 'up', request);
      if (part.length > 0 && !backend.stdin.write(part)) {
        request.pause();
        backend.stdin.once('drain', () => request.resume());
      }
    });
    request.on('end', () => backend.stdin.end());
    const head = new HeadOfAnswer(response);
    backend.stdout.on('data', (chunk: Buffer) => {
      const body = head.take(chunk);
      served.sent += body.length;
      const part = this.#uncut(body, 'down', request);
      if (part.length > 0 && !response.write(part)) {
        backend.stdout.pause();
        response.once('drain', () => backend.stdout.resume());
      }
    });
    backend.stdout.on('end', () => response.end());
  }

  /** Returns the part of a chunk before the cut, and ends the connection at the cut. */
  #uncut(chunk: Buffer, direction: Cut['direction'], { socket }: IncomingMessage): Buffer {
    const cut = this.pendingCut;
    if (cut === undefined || cut.done || cut.direction !== direction) return socket.destroyed ? Buffer.alloc(0) : chunk;
    cut.seen += chunk.length;
    if (cut.seen <= cut.afterBytes) return chunk;
    cut.done = true;
    // The data before the cut must arrive before the end.
    socket.destroySoon();
    setTimeout(() => socket.destroy(), 20);
    return chunk.subarray(0, chunk.length - (cut.seen - cut.afterBytes));
  }

  #isLetIn({ headers }: IncomingMessage): boolean {
    if (this.credentials === undefined) return true;
    const { user, password } = this.credentials;
    return headers.authorization === `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  }
}

function endGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGTERM');
  } catch {
    // The process has already ended.
  }
}

function cgiVariables({ method, headers }: IncomingMessage, url: URL, root: string): Record<string, string> {
  return {
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    REQUEST_METHOD: method ?? 'GET',
    PATH_INFO: decodeURIComponent(url.pathname),
    QUERY_STRING: url.search.slice(1),
    REMOTE_ADDR: '127.0.0.1',
    CONTENT_TYPE: headers['content-type'] ?? '',
    // No CONTENT_LENGTH: if less data came than it says, http-backend would read for ever.
    ...(headers['content-encoding'] !== undefined && { HTTP_CONTENT_ENCODING: headers['content-encoding'] }),
    ...(typeof headers['git-protocol'] === 'string' && { GIT_PROTOCOL: headers['git-protocol'] }),
  };
}

/** Moves the head of a CGI program's output to the response. */
class HeadOfAnswer {
  readonly #response: ServerResponse;
  #held: Buffer | undefined = Buffer.alloc(0);

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Returns the part of a chunk that belongs to the body. */
  take(chunk: Buffer): Buffer {
    if (this.#held === undefined) return chunk;
    this.#held = Buffer.concat([this.#held, chunk]);
    const end = this.#held.indexOf('\r\n\r\n');
    if (end === -1) return Buffer.alloc(0);
    for (const line of this.#held.subarray(0, end).toString('latin1').split('\r\n')) {
      const colon = line.indexOf(':');
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
      if (name.toLowerCase() === 'status') this.#response.statusCode = Number.parseInt(value, 10);
      else this.#response.setHeader(name, value);
    }
    const body = this.#held.subarray(end + 4);
    this.#held = undefined;
    return body;
  }
}
