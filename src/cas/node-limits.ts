import { UwfError } from '../errors.ts';

/** How large a node may be that is written here, or taken in from elsewhere. */
export type NodeLimits = {
  maxBytes: number;
  /** Lists, maps and values. */
  maxValues: number;
  maxDepth: number;
};

/** Well above the nodes that agents make, and well below the size of memory. Fetch refuses larger nodes. */
export const NODE_LIMITS: NodeLimits = { maxBytes: 16 * 1024 * 1024, maxValues: 500_000, maxDepth: 500 };

/** The largest blob of a schema. Compiled, it is a program many times that size. */
export const MAX_SCHEMA_BYTES: number = 256 * 1024;

/** Makes the error for a node that fetch would refuse. */
export function nodeTooLarge(reason: string): UwfError {
  return new UwfError(`this cannot be stored as a node: ${reason}`, {
    code: 'node-too-large',
    kind: 'data',
    hint: 'keep what is larger in a file of the repository, and name or pin that',
  });
}

/** Makes the error for a node of more bytes than {@link NODE_LIMITS} allows. @param bytes how many, in words */
export function tooManyBytes(bytes: string): UwfError {
  return nodeTooLarge(`it has ${bytes} bytes, more than the ${NODE_LIMITS.maxBytes} of the largest`);
}

/** @throws {UwfError} `node-too-large` if a fetch would refuse this blob */
export function assertNodeFits(blob: Uint8Array): void {
  const { byteLength } = blob;
  if (byteLength > NODE_LIMITS.maxBytes) throw tooManyBytes(String(byteLength));
  const reason = whyNoJson(blob, NODE_LIMITS);
  if (reason !== undefined) throw nodeTooLarge(reason);
}

const [BRACE, END_BRACE, BRACKET, END_BRACKET, COMMA, QUOTE, BACKSLASH] = [...Buffer.from('{}[],"\\')];

/** Says why a text must not be parsed as JSON: it is nested too deep, or has too many values. */
export function whyNoJson(data: Uint8Array, { maxDepth, maxValues }: Omit<NodeLimits, 'maxBytes'>): string | undefined {
  if (data[0] !== BRACE) return undefined;
  // Cheap bounds first. Each level and each value takes a byte, and most nodes have fewer lists and maps than the depth allows.
  const opened = countOf(data, '{', maxDepth) + countOf(data, '[', maxDepth);
  if (data.byteLength <= maxValues && opened <= maxDepth) return undefined;
  let depth = 0;
  let values = 0;
  let isText = false;
  for (let at = 0; at < data.byteLength; at++) {
    const byte = data[at];
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === COMMA) values += 1;
    else if (byte === BRACE || byte === BRACKET) {
      depth += 1;
      values += 1;
    } else if (byte === END_BRACE || byte === END_BRACKET) depth -= 1;
    if (depth > maxDepth) return `it is nested more than ${maxDepth} deep`;
    if (values > maxValues) return `it has more than ${maxValues} values`;
  }
  return undefined;
}

/** Counts the occurrences of a text in some bytes, and stops when there are more than `most`. */
export function countOf(data: Uint8Array, text: string, most: number): number {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  let count = 0;
  for (let at = bytes.indexOf(text); at !== -1 && count <= most; at = bytes.indexOf(text, at + 1)) count += 1;
  return count;
}
