import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Cut } from './git-http-server.ts';

export type CuttingProxy = {
  port: number;
  /** The number of connections so far. */
  readonly connections: number;
  /** Bytes that passed in each direction. */
  readonly bytes: Readonly<Record<Cut['direction'], number>>;
  /** Ends all connections after this many bytes in one direction; `undefined` cancels that. */
  cut(cut: Cut | undefined): void;
  readonly hasCut: boolean;
};

/** A proxy between a client and a server on this machine, which counts and cuts. Ends with the test. */
export async function startCuttingProxy(targetPort: number): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let connections = 0;
  const bytes = { up: 0, down: 0 };
  let pending: (Cut & { seen: number; done: boolean }) | undefined;
  const pass = (from: Socket, to: Socket, direction: Cut['direction']): void => {
    open.add(from);
    from.on('close', () => {
      open.delete(from);
      to.end();
    });
    from.on('error', () => to.destroy());
    from.on('data', (chunk: Buffer) => {
      bytes[direction] += chunk.length;
      const cut = pending?.direction === direction ? pending : undefined;
      if (cut !== undefined) cut.seen += chunk.length;
      if (cut === undefined || cut.seen <= cut.afterBytes) {
        if (!to.write(chunk)) {
          from.pause();
          to.once('drain', () => from.resume());
        }
        return;
      }
      cut.done = true;
      for (const socket of open) socket.destroy();
    });
  };
  const server = createServer((client) => {
    connections += 1;
    if (pending?.done === true) {
      client.destroy();
      return;
    }
    const target = connect(targetPort, '127.0.0.1');
    pass(client, target, 'up');
    pass(target, client, 'down');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  // The server listens on TCP, so it has such an address.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    get connections() {
      return connections;
    },
    bytes,
    cut: (cut) => void (pending = cut && { ...cut, seen: 0, done: false }),
    get hasCut() {
      return pending?.done === true;
    },
  };
}
