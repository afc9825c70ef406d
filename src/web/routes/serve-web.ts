import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { UwfError } from '../../errors.ts';
import { loadOnce } from './create-web-handler.ts';

/** No free port was found, or this user may not listen there. */
class CannotListen extends UwfError {
  constructor(host: string, port: number, cause: NodeJS.ErrnoException) {
    const why = cause.code === 'EADDRINUSE' ? 'another program listens there' : cause.message;
    super(`cannot listen on ${host}:${port}: ${why}`, {
      code: 'cannot-listen',
      kind: 'environment',
      hint: '--port names another port; 0 takes any that is free',
      cause,
    });
  }
}

type WebServer = { port: number; close(): Promise<void> };

/** An idle connection costs a few kilobytes: so many are let in that a page still answers beside those of others. */
const MAX_CONNECTIONS = 5_000;
/** A connection that sends no request is closed after this time and at most one more interval of looking. */
const SILENT_MS = 10_000;
const LOOK_EVERY_MS = 2_000;

type Handler = (request: Request) => Promise<Response>;

/**
 * Serves the page over HTTP on the first of the ports that is free; 0 is any. The handler is loaded with the first request,
 * and its signal is aborted when the server closes.
 */
export async function serveWeb(
  host: string,
  ports: readonly number[],
  loadHandler: (port: number, signal: AbortSignal) => Promise<Handler>,
): Promise<WebServer> {
  const server = createServer({
    headersTimeout: SILENT_MS,
    requestTimeout: 60_000,
    connectionsCheckingInterval: LOOK_EVERY_MS,
  });
  server.maxConnections = MAX_CONNECTIONS;
  const port = await listen(server, host, ports);
  const closing = new AbortController();
  server.on(
    'request',
    listenerOf(() => loadHandler(port, closing.signal)),
  );
  return {
    port,
    async close() {
      closing.abort();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Translates between Node's requests and those of the handler. All that answers is loaded with the first request. */
function listenerOf(loadHandler: () => Promise<Handler>): RequestListener {
  const load = loadOnce(async (): Promise<RequestListener> => {
    const [{ getRequestListener }, handler] = await Promise.all([import('@hono/node-server'), loadHandler()]);
    const adapter = getRequestListener(handler);
    return (incoming, outgoing) => void adapter(incoming, outgoing);
  });
  const answer = async (...[incoming, outgoing]: Parameters<RequestListener>): Promise<void> => {
    const listener = await load().catch(() => undefined);
    if (listener !== undefined) return listener(incoming, outgoing);
    // The visitor may not have logged in, so the answer does not say why.
    outgoing.writeHead(503, { 'Content-Type': 'text/plain; charset=utf-8', 'Retry-After': '1' });
    outgoing.end('The page could not be loaded. Load it again in a moment.\n');
  };
  return (incoming, outgoing) => void answer(incoming, outgoing);
}

async function listen(server: Server, host: string, ports: readonly number[]): Promise<number> {
  let failure: CannotListen | undefined;
  for (const port of ports) {
    server.listen(port, host);
    try {
      await once(server, 'listening');
      const address = server.address();
      return typeof address === 'object' && address !== null ? address.port : port;
    } catch (error) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node raises system errors here.
      failure ??= new CannotListen(host, port, error as NodeJS.ErrnoException);
    }
  }
  throw failure ?? new Error('no port was given');
}
