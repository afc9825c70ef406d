import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

import { readOutputLines } from '../processes/output-lines.ts';

/** Where messages come from and go to. */
export type MessageStreams = {
  incoming: AsyncIterable<string | Uint8Array>;
  write(text: string): unknown;
  /** Told once, when the transport is closed from this side; with the error that made it end, such as an `OutputFlood`. */
  close?(cause?: unknown): void;
};

/** One message; larger ones end the connection. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/**
 * JSON-RPC messages of the Model Context Protocol over a pair of byte streams, one a line.
 *
 * The transports of the SDK take the streams of this process, or start the other one themselves; here both are handed in.
 * The connection is closed when the incoming stream ends.
 * @see https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#stdio
 */
export class McpStreamTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #streams: MessageStreams;
  #isClosed = false;

  constructor(streams: MessageStreams) {
    this.#streams = streams;
  }

  async start(): Promise<void> {
    const { deserializeMessage } = await import('@modelcontextprotocol/sdk/shared/stdio.js');
    void this.#read(deserializeMessage);
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error('the connection is closed'));
    this.#streams.write(`${JSON.stringify(message)}\n`);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#close();
    return Promise.resolve();
  }

  #close(cause?: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#streams.close?.(cause);
    this.onclose?.();
  }

  /** @param parse throws where a line is no message */
  async #read(parse: (line: string) => JSONRPCMessage): Promise<void> {
    try {
      for await (const line of readOutputLines(this.#streams.incoming, MAX_MESSAGE_BYTES)) {
        this.#receive(line.toString('utf8'), parse);
        if (this.#isClosed) return;
      }
      this.#close();
    } catch (error) {
      this.#report(error);
      this.#close(error);
    }
  }

  #receive(line: string, parse: (line: string) => JSONRPCMessage): void {
    if (line.trim() === '') return;
    let message: JSONRPCMessage;
    try {
      message = parse(line);
    } catch (error) {
      // What is no message cannot be answered; the next line may be one.
      this.#report(error);
      return;
    }
    this.onmessage?.(message);
  }

  #report(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }
}
