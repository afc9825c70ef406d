import type * as Sdk from '@agentclientprotocol/sdk/unstable';

/**
 * The SDK of the Agent Client Protocol, loaded when the first agent is started.
 *
 * Version 1 of the protocol with the additions that are not yet part of it: the tokens of a prompt are among them.
 */
export function loadSdk(): Promise<typeof Sdk> {
  return import('@agentclientprotocol/sdk/unstable');
}
