import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

/** Where messages come from and go to. */
export type MessageStreams = {
  incoming: AsyncIterable<string | Uint8Array>;
  write(text: string): unknown;
  /** Told once, when the transport is closed from this side. */
  close?(): void;
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
  readonly #parse: (line: string) => JSONRPCMessage;
  #isClosed = false;

  /** @param parse reads a line, and throws where it is no message: `deserializeMessage` of the SDK */
  constructor(streams: MessageStreams, parse: (line: string) => JSONRPCMessage) {
    this.#streams = streams;
    this.#parse = parse;
  }

  start(): Promise<void> {
    void this.#read();
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error('the connection is closed'));
    this.#streams.write(`${JSON.stringify(message)}\n`);
    return Promise.resolve();
  }

  close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#streams.close?.();
      this.onclose?.();
    }
    return Promise.resolve();
  }

  async #read(): Promise<void> {
    try {
      let chunks: Buffer[] = [];
      let size = 0;
      for await (const part of this.#streams.incoming) {
        let bytes = Buffer.from(part);
        for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10)) {
          this.#receive(Buffer.concat([...chunks, bytes.subarray(0, end)]).toString('utf8'));
          chunks = [];
          size = 0;
          bytes = bytes.subarray(end + 1);
        }
        if (bytes.length > 0) chunks.push(bytes);
        size += bytes.length;
        if (size > MAX_MESSAGE_BYTES) throw new Error(`a message has more than ${MAX_MESSAGE_BYTES} bytes`);
        if (this.#isClosed) return;
      }
    } catch (error) {
      this.#report(error);
    }
    await this.close();
  }

  #receive(line: string): void {
    if (line.trim() === '') return;
    let message: JSONRPCMessage;
    try {
      message = this.#parse(line);
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
