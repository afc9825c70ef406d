import { isJsonObject } from '../json.ts';
import type { JsonObject, JsonValue } from '../json.ts';

/** Redacts a text that stands under a name. */
type RedactNamed = (text: string, name?: string) => string;

/** What is still to be put in its place. */
type Task = { into: JsonValue[] | JsonObject; key: number | string; value: JsonValue; name: string | undefined };

/** Redacts the strings and keys of a value, however deep it is. */
export function redactEach(value: JsonValue, redact: RedactNamed): JsonValue {
  const whole: JsonValue[] = [];
  const tasks: Task[] = [{ into: whole, key: 0, value, name: undefined }];
  for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) put(task, redact, tasks);
  return whole[0] ?? null;
}

function put({ into, key, value, name }: Task, redact: RedactNamed, tasks: Task[]): void {
  if (typeof value === 'string') set(into, key, redact(value, name));
  else if (Array.isArray(value)) {
    const copy: JsonValue[] = Array.from({ length: value.length }, () => null);
    set(into, key, copy);
    for (const [at, item] of value.entries()) tasks.push({ into: copy, key: at, value: item, name });
  } else if (isJsonObject(value)) {
    const copy: JsonObject = {};
    set(into, key, copy);
    for (const [itemKey, item] of Object.entries(value)) {
      const free = freeKey(copy, redact(itemKey));
      // In its order, before what is below is looked at.
      set(copy, free, null);
      tasks.push({ into: copy, key: free, value: item, name: nameFor(itemKey, value) });
    }
  } else set(into, key, value);
}

/** A variable as `{ name, value }` has its name beside it. */
function nameFor(key: string, { name, key: named }: JsonObject): string {
  if (key !== 'value') return key;
  return typeof name === 'string' ? name : typeof named === 'string' ? named : key;
}

/** Two keys can be the same secret in two encodings. */
function freeKey(object: JsonObject, key: string): string {
  let free = key;
  for (let number = 2; Object.hasOwn(object, free); number++) free = `${key} ${number}`;
  return free;
}

/** Also `__proto__` is a key. */
function set(into: JsonValue[] | JsonObject, key: number | string, value: JsonValue): void {
  Object.defineProperty(into, key, { value, writable: true, enumerable: true, configurable: true });
}
