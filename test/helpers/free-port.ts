import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A TCP port of this machine that nothing listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  // The server listens on TCP, so it has such an address.
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
