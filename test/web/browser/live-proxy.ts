import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { WebProcess } from './browser-fixture.ts';

/** What stands between a browser and the server. */
export type LiveProxy = {
  /** The server as the browser reaches it. */
  server: WebProcess;
  /** How many streams of events are open now. */
  readonly streams: number;
  /** How many connections were tried so far. */
  readonly tries: number;
  /** Passes nothing on any more on the connections that are open, and closes none of them. */
  swallow(): void;
  /** Ends all connections, and each new one at once. */
  refuse(): void;
};

/** A proxy that counts streams of events, and can go wrong as proxies do. Ends with the test. */
export async function startLiveProxy(server: WebProcess): Promise<LiveProxy> {
  const open = new Map<Socket, { isStream: boolean; isDead: boolean; target: Socket }>();
  let tries = 0;
  let isRefusing = false;
  const listener = createServer((client) => {
    tries += 1;
    if (isRefusing) {
      client.destroy();
      return;
    }
    const target = connect(Number(new URL(server.origin).port), '127.0.0.1');
    const state = { isStream: false, isDead: false, target };
    open.set(client, state);
    client.on('data', (chunk: Buffer) => {
      if (chunk.toString('latin1', 0, 10) === 'GET /live?') state.isStream = true;
      if (!state.isDead) target.write(chunk);
    });
    target.on('data', (chunk: Buffer) => !state.isDead && client.write(chunk));
    const end = (): void => {
      if (state.isDead) return;
      open.delete(client);
      client.destroy();
      target.destroy();
    };
    for (const socket of [client, target]) socket.on('close', end).on('error', end);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const destroyAll = (): void => {
    for (const [client, { target }] of open) {
      client.destroy();
      target.destroy();
    }
  };
  onTestFinished(() => {
    destroyAll();
    listener.close();
  });
  // The server listens on TCP, so it has such an address.
  const origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  return {
    server: { ...server, origin, address: `${origin}/#token=${server.token}` },
    get streams() {
      return [...open.values()].filter(({ isStream }) => isStream).length;
    },
    get tries() {
      return tries;
    },
    swallow: () => {
      for (const state of open.values()) state.isDead = true;
    },
    refuse: () => {
      isRefusing = true;
      destroyAll();
    },
  };
}
