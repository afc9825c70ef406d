import { UwfError } from '../errors.ts';

/** How large a node may be that is written here, or taken in from elsewhere. */
type NodeLimits = {
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

/**
 * The longest prompt, answer or reply, in bytes of UTF-8: half of the longest result of a template, so that rules can quote it.
 * Threads with longer texts stay readable.
 */
export const MAX_TEXT_BYTES: number = 2 * 1024 * 1024;
/** The longest reason of a suspension, which is shown as it is. */
export const MAX_REASON_BYTES: number = 64 * 1024;

/** A text is too long for a thread. Nothing was stored. */
export class TextTooLong extends UwfError {
  constructor(fault: string) {
    super(`${fault}; nothing was stored`, {
      code: 'text-too-long',
      kind: 'usage',
      hint: 'write it to a file of the repository and say in the text where it is',
    });
  }
}

/** @throws {TextTooLong} if a text is longer than {@link MAX_TEXT_BYTES} @param what its name in a sentence: `the prompt` */
export function assertTextFits(what: string, text: string): void {
  const fault = faultOfLength(what, text);
  if (fault !== undefined) throw new TextTooLong(fault);
}

/** Says how much too long a text is; `undefined` if it is not. */
export function faultOfLength(what: string, text: string, maxBytes: number = MAX_TEXT_BYTES): string | undefined {
  // A UTF-16 unit takes three bytes at most.
  if (text.length * 3 <= maxBytes) return undefined;
  const bytes = Buffer.byteLength(text);
  return bytes <= maxBytes ? undefined : `${what} has ${bytes} bytes, and ${maxBytes} is the most`;
}

/** Returns a text, or the beginning and the end of one that is too long, with a line between them that says so. */
export function cutToFit(text: string, maxBytes: number = MAX_TEXT_BYTES): string {
  if (faultOfLength('it', text, maxBytes) === undefined) return text;
  const bytes = Buffer.from(text);
  const half = maxBytes / 2 - 100;
  const [head, tail] = [bytes.subarray(0, half), bytes.subarray(-half)].map((part) => part.toString('utf8'));
  const left = bytes.length - 2 * half;
  return `${head?.replace(/\uFFFD+$/, '')}\n\n[${left} bytes are left out here]\n\n${tail?.replace(/^\uFFFD+/, '')}`;
}
