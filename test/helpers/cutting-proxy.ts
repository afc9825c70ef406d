import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Cut } from './git-http-server.ts';

export type CuttingProxy = {
  port: number;
  /** How many connections there have been. */
  readonly connections: number;
  /** How many bytes have gone through each way. */
  readonly bytes: Readonly<Record<Cut['direction'], number>>;
  /** Arranges that all connections end once this much has gone through one way; `undefined` takes it back. */
  cut(cut: Cut | undefined): void;
  readonly hasCut: boolean;
};

/** Stands between a client and a server on this machine, counts, and cuts. Ends with the test. */
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
  // It listens on TCP, so the address is of this kind.
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
