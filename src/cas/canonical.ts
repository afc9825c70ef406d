import { UwfError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { isWellFormed } from '../text/wording.ts';

/** Nesting beyond which a value is refused; it keeps every recursive reader of a node within its stack. */
export const MAX_DEPTH = 256;

/** A value cannot be stored because JSON cannot carry it, or not without changing it. */
export class NotJson extends UwfError {
  /** Where the offending value is, as a JSON pointer (RFC 6901); empty for the value itself. */
  readonly path: string;
  readonly reason: string;
  constructor(path: string, reason: string) {
    super(`the value ${path === '' ? '' : `at ${path} `}cannot be stored: ${reason}`, {
      code: 'not-json',
      kind: 'data',
      hint: 'store plain objects, lists, well-formed strings, finite numbers, true, false and null only',
    });
    this.path = path;
    this.reason = reason;
  }
}

/**
 * Checks that a value is JSON and comes back the same when it is written and read.
 *
 * Negative zero passes and is stored as 0, which JSON takes for equal.
 * @throws {NotJson} for `undefined`, functions, symbols, bigints, NaN and infinities, strings that are not well-formed
 * Unicode (lone surrogates), lists with holes or keys of their own, objects that are not plain, cycles, and nesting
 * deeper than {@link MAX_DEPTH}
 */
export function assertJsonValue(value: unknown): asserts value is JsonValue {
  check(value, [], []);
}

function check(value: unknown, path: (string | number)[], above: object[]): void {
  switch (typeof value) {
    case 'boolean':
      return;
    case 'string':
      if (!isWellFormed(value)) throw refuse(path, 'a string with half a surrogate pair');
      return;
    case 'number':
      if (!Number.isFinite(value)) throw refuse(path, `the number ${value}`);
      return;
    case 'object':
      if (value !== null) checkNested(value, path, above);
      return;
    default:
      throw refuse(path, value === undefined ? 'undefined' : `a ${typeof value}`);
  }
}

function checkNested(value: object, path: (string | number)[], above: object[]): void {
  if (above.includes(value)) throw refuse(path, 'a cycle');
  if (above.length >= MAX_DEPTH) throw refuse(path, `nesting deeper than ${MAX_DEPTH}`);
  above.push(value);
  if (Array.isArray(value)) checkList(value, path, above);
  else checkObject(value, path, above);
  above.pop();
}

function checkList(list: readonly unknown[], path: (string | number)[], above: object[]): void {
  if (Object.keys(list).length !== list.length) throw refuse(path, 'a list with holes or with keys of its own');
  for (let index = 0; index < list.length; index++) {
    path.push(index);
    check(list[index], path, above);
    path.pop();
  }
}

function checkObject(object: object, path: (string | number)[], above: object[]): void {
  if (!isPlain(object)) throw refuse(path, `an object of class ${className(object)}`);
  if (Object.getOwnPropertySymbols(object).length > 0) throw refuse(path, 'an object with symbols for keys');
  for (const [key, member] of Object.entries(object)) {
    path.push(key);
    if (!isWellFormed(key)) throw refuse(path, 'a key with half a surrogate pair');
    check(member, path, above);
    path.pop();
  }
}

// Not `=== Object.prototype`: objects of another realm (a vm context, a worker's library) are plain too.
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function className(object: object): string {
  const constructor: unknown = Reflect.get(object, 'constructor');
  return typeof constructor === 'function' ? constructor.name : 'unknown';
}

function refuse(path: readonly (string | number)[], reason: string): NotJson {
  return new NotJson(pointer(path), reason);
}

const special = /[~/]/;

/** Writes a path as a JSON pointer: `/a~1b/0`. Source: RFC 6901. */
export function pointer(path: readonly (string | number)[]): string {
  let text = '';
  for (const step of path) {
    const isPlain = typeof step === 'number' || !special.test(step);
    text += isPlain ? `/${step}` : `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  }
  return text;
}

/**
 * Writes a value as uwf stores it: keys, strings and numbers as RFC 8785 orders and writes them, two spaces of indent,
 * a final newline.
 *
 * Equal values give equal text, whatever the order of their keys. Expects what {@link assertJsonValue} lets pass.
 * Source: RFC 8785 §3.2 (whitespace apart).
 */
export function canonicalJson(value: JsonValue): string {
  return `${write(value, '\n')}\n`;
}

// Text is put together by hand: an object with keys like '10' cannot be given an order that JSON.stringify would keep.
function write(value: JsonValue, newline: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${newline}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[${value.map((item) => inner + write(item, inner)).join(',')}${newline}]`;
  }
  // Without arguments `sort` compares UTF-16 code units, as RFC 8785 asks for.
  const keys = Object.keys(value).toSorted();
  if (keys.length === 0) return '{}';
  const members = keys.map((key) => `${inner}${JSON.stringify(key)}: ${write(memberOf(value, key), inner)}`);
  return `{${members.join(',')}${newline}}`;
}

function memberOf(object: JsonObject, key: string): JsonValue {
  // The key is one of the object's, so there is a value.
  return object[key] ?? null;
}

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

function nodeTooLarge(reason: string): UwfError {
  return new UwfError(`this cannot be stored as a node: ${reason}`, {
    code: 'node-too-large',
    kind: 'data',
    hint: 'keep what is larger in a file of the repository, and name or pin that',
  });
}

/** @param bytes how many, in words */
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

/** Counts the occurrences of a text, and stops when there are more than `most`. */
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
