const NEWLINE = 0x0a;

/** A program wrote more than it may. */
export class OutputFlood extends Error {}

/**
 * Reads a stream line by line, without the ends of the lines. The last line needs no end.
 * @param maxBytes of one line
 * @param onBytes told how many bytes have arrived; what it throws ends the reading
 * @throws {OutputFlood} at a longer line
 */
export async function* readOutputLines(
  stream: AsyncIterable<string | Uint8Array>,
  maxBytes: number,
  onBytes: (count: number) => void = () => {},
): AsyncGenerator<Buffer, void> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const piece of stream) {
    const chunk = Buffer.isBuffer(piece) ? piece : Buffer.from(piece);
    onBytes(chunk.length);
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]);
      [parts, size, start] = [[], 0, end + 1];
    }
    size += chunk.length - start;
    if (size > maxBytes) throw new OutputFlood(`a single message of more than ${maxBytes} bytes`);
    parts.push(chunk.subarray(start));
  }
  if (size > 0) yield Buffer.concat(parts);
}
