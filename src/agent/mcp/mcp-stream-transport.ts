import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

import { isJsonObject, parseJson } from '../../json.ts';
import { OutputFlood, readOutputLines } from '../processes/start-program.ts';

/** Where messages come from and go to. */
export type MessageStreams = {
  incoming: AsyncIterable<string | Uint8Array>;
  write(text: string): unknown;
  /** Told once, when the transport is closed from this side; with the error that made it end, such as an `OutputFlood`. */
  close?(cause?: unknown): void;
  /** Whether what is no message is answered with an error: a server does that, a client does not. */
  answersFaults?: boolean;
};

/** Codes of JSON-RPC 2.0. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

const utf8 = new TextDecoder('utf-8', { fatal: true });

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

  async #read(parse: (line: string) => JSONRPCMessage): Promise<void> {
    try {
      for await (const line of readOutputLines(this.#streams.incoming, MAX_MESSAGE_BYTES)) {
        this.#receive(line, parse);
        if (this.#isClosed) return;
      }
      this.#close();
    } catch (error) {
      this.#report(error);
      if (error instanceof OutputFlood) this.#answer(INVALID_REQUEST, error.message);
      this.#close(error);
    }
  }

  #receive(line: Buffer, parse: (line: string) => JSONRPCMessage): void {
    let message: JSONRPCMessage;
    let value: unknown;
    try {
      const text = utf8.decode(line);
      if (text.trim() === '') return;
      value = parseJson(text);
      message = parse(text);
    } catch (error) {
      // The next line may be a message.
      this.#report(error);
      if (value === undefined) this.#answer(PARSE_ERROR, 'the line is no JSON in UTF-8');
      else if (!isJsonObject(value)) this.#answer(INVALID_REQUEST, 'the line is no JSON object');
      // Two servers that answer each other's errors would never end.
      else if (value['result'] === undefined && value['error'] === undefined)
        this.#answer(INVALID_REQUEST, 'the object is no message of JSON-RPC 2.0', value['id']);
      return;
    }
    this.onmessage?.(message);
  }

  /** @see https://www.jsonrpc.org/specification#error_object: the id is null where there is none that can be read */
  #answer(code: number, message: string, id?: unknown): void {
    if (this.#isClosed || this.#streams.answersFaults !== true) return;
    const known = typeof id === 'string' || typeof id === 'number' ? id : null;
    this.#streams.write(`${JSON.stringify({ jsonrpc: '2.0', id: known, error: { code, message } })}\n`);
  }

  #report(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }
}
