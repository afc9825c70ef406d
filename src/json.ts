import { orElse } from './or-else.ts';

/** A value that JSON can carry. Produced by `JSON.parse`, checked by `cas/canonical.ts` before it is stored. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

/** Tells whether a value is an object with keys: neither null, nor an array, nor a primitive. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type TextChange = (text: string, key: string) => string;

/**
 * Gives a value with each of its strings changed; keys of objects stay.
 * @param change is told the innermost key that leads to the string; '' where none does
 */
export function mapTexts(value: JsonObject, change: TextChange): JsonObject;
export function mapTexts(value: JsonValue, change: TextChange, key?: string): JsonValue;
export function mapTexts(value: JsonValue, change: TextChange, key = ''): JsonValue {
  if (typeof value === 'string') return change(value, key);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, key));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, change, name)]));
}

/** Sets a member of a value as data, `__proto__` included. */
export function setMember(into: JsonValue[] | JsonObject, key: number | string, value: JsonValue): void {
  Object.defineProperty(into, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Reads a text as JSON; `undefined` where it is none. */
export function parseJson(text: string): unknown {
  return orElse((): unknown => JSON.parse(text), undefined);
}

/** The keys of a record, with their type. Only for a record that has no other keys than its type says. */
export function keysOf<Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `Object.keys` cannot know that there are no others.
  return Object.keys(record) as Key[];
}

/** A record with the same keys and other values. */
export function mapValues<Key extends string, From, To>(
  record: Readonly<Record<Key, From>>,
  map: (value: From, key: Key) => To,
): Record<Key, To> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `Object.fromEntries` forgets the keys.
  return Object.fromEntries(keysOf(record).map((key) => [key, map(record[key], key)])) as Record<Key, To>;
}
