import { UwfError } from '../../errors.ts';

/** A file is not an exported thread, or is incomplete or damaged. Nothing of it was stored. */
export class RefusedImport extends UwfError {
  constructor(line: number | undefined, reason: string, cause?: unknown) {
    super(`the file cannot be imported${line === undefined ? '' : ` (line ${line})`}: ${reason}`, {
      code: 'import-refused',
      kind: 'data',
      hint: "export it again with 'uwf thread export <thread> --with-nodes'; nothing was stored",
      cause,
      facts: { line, reason },
    });
  }
}

/** The longest line of an export. */
const MAX_LINE_BYTES: number = 64 * 1024 * 1024;

/**
 * Splits bytes into lines of UTF-8, without their line ends; the last one needs one too.
 * @throws {RefusedImport} for a line that is too long, is not UTF-8 or is cut off
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array | string>,
  maxBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<string, void, void> {
  let parts: Uint8Array[] = [];
  let length = 0;
  let line = 1;
  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length > maxBytes) throw new RefusedImport(line, `it is longer than ${maxBytes} bytes`);
    parts.push(part);
  };
  for await (const chunk of chunks) {
    let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      add(rest.subarray(0, end));
      yield decode(Buffer.concat(parts), line);
      [parts, length] = [[], 0];
      line += 1;
      rest = rest.subarray(end + 1);
    }
    add(rest);
  }
  if (length > 0) throw new RefusedImport(line, 'the file ends within it');
}

function decode(bytes: Uint8Array, line: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new RefusedImport(line, 'it is not UTF-8', error);
  }
}
