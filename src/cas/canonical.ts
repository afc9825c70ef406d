import { isWellFormed } from '../text/wording.ts';
import { UwfError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../json.ts';

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
