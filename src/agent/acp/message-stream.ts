import type { Readable, Writable } from 'node:stream';
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk/unstable';

import { isJsonObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';

/** An agent wrote more than it may. */
export class OutputFlood extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'OutputFlood';
  }
}

/** Where the messages of an agent come from, and what is taken of them. */
export type MessageSource = {
  stdin: Writable;
  stdout: Readable;
  /** Of one message. */
  maxMessageBytes: number;
  /** Told how many bytes have arrived; what it throws ends the stream. */
  onBytes(count: number): void;
  /** Told of each `session/update`, in the order of arrival, before any later message is answered. */
  onUpdate(params: JsonObject): void;
  /** Told of lines that are no messages: what an agent, or a library of it, prints by mistake. */
  onOtherLine(line: Buffer): void;
};

const NEWLINE = 0x0a;

/**
 * Makes a stream of messages out of a program's standard input and output, one message in a line (ACP, "transports").
 *
 * It reads only as fast as messages are dealt with, and keeps no more than one of them. Lines that are not JSON objects
 * are left out, and so are answers to what was not asked: neither is worth ending a turn for. Updates of the session do
 * not go through the SDK, which would refuse those that a newer agent writes otherwise.
 */
export function messageStream(source: MessageSource): Stream {
  const asked = new Set<unknown>();
  const messages = readMessages(source, asked);
  return {
    readable: new ReadableStream<AnyMessage>({
      async pull(controller) {
        const { value, done } = await messages.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        source.stdout.destroy();
      },
    }),
    writable: new WritableStream<AnyMessage>({
      write: (message) => {
        if ('method' in message && 'id' in message) asked.add(message.id);
        return writeLine(source.stdin, `${JSON.stringify(message)}\n`);
      },
    }),
  };
}

async function* readMessages(source: MessageSource, asked: Set<unknown>): AsyncGenerator<AnyMessage, void> {
  for await (const line of readLines(source)) {
    const value = parseLine(line);
    if (value === undefined) {
      source.onOtherLine(line);
    } else if (value['method'] === 'session/update') {
      if (isJsonObject(value['params'])) source.onUpdate(value['params']);
    } else if ('method' in value || asked.delete(value['id'])) {
      // The SDK looks at each message itself, and answers those that are none of the protocol.
      yield value as AnyMessage;
    }
  }
}

function parseLine(line: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function* readLines(source: MessageSource): AsyncGenerator<Buffer, void> {
  const { stdout, maxMessageBytes } = source;
  let parts: Buffer[] = [];
  let size = 0;
  // A readable stream without an encoding gives buffers.
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    source.onBytes(chunk.length);
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]);
      [parts, size, start] = [[], 0, end + 1];
    }
    size += chunk.length - start;
    if (size > maxMessageBytes) throw new OutputFlood(`a single message of more than ${maxMessageBytes} bytes`);
    parts.push(chunk.subarray(start));
  }
}

function writeLine(stdin: Writable, line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Called once the system took it: a program that does not read holds its writer up, and no memory.
    stdin.write(line, (error) => (error ? reject(error) : resolve()));
  });
}
