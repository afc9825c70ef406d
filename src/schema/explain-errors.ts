import type { ErrorObject } from 'ajv';
import { isJsonObject, type JsonObject, type JsonValue, setMember } from '../json.ts';
import { didYouMean } from '../text/nearest-name.ts';
import { atPointer, resolveLocalRef, type SchemaPath, type SchemaWords, wordsOf } from './typed-schema.ts';

// What ajv finds wrong with a file that people write, said in the words of its schema. This is the one place where an error of ajv
// becomes a sentence about a file; `json-schema/schema-error.ts` says errors of replies to agents.

/** An error of a check that the build generates: ajv's, without a message. */
export type CheckError = Pick<ErrorObject, 'instancePath' | 'schemaPath' | 'keyword' | 'params' | 'propertyName'>;

export type ValueFault = {
  /** Stable, kebab-case: `wrong-type`. */
  code: string;
  path: SchemaPath;
  /** It is about the key, not about its value. */
  at?: 'key';
  message: string;
  hint?: string | undefined;
  /** The value at the path is wrong, and is not read; not set where keys are missing, unknown or too many. */
  isOfValue: boolean;
};

/** Writes a path as people read it: `moderator[3].when`. */
export function formatPath(path: SchemaPath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w$-]+$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}

/** Says what is wrong with a value, each thing once. Errors inside of a choice of schemas are those of the choice. */
export function faultsOf(schema: JsonObject, value: JsonValue, errors: readonly CheckError[]): ValueFault[] {
  const choices = errors.filter(({ keyword }) => keyword === 'oneOf').map(({ schemaPath }) => `${schemaPath}/`);
  const outer = errors.filter(({ schemaPath, propertyName }) => {
    return propertyName === undefined && !choices.some((choice) => schemaPath.startsWith(choice));
  });
  const found = new Map<string, ValueFault>();
  for (const error of outer) {
    const fault = faultOf(schema, value, error);
    if (fault === undefined) continue;
    const { path, message, isOfValue } = fault;
    // A value is wrong once, whatever keywords refuse it.
    const id = JSON.stringify(isOfValue ? [path] : [path, message]);
    if (!found.has(id)) found.set(id, fault);
  }
  return [...found.values()];
}

/** How messages name what lies at a path of a value: `role 'writer'`. */
export function nameOf(schema: JsonObject, path: SchemaPath): string {
  return describe(schema, path).name;
}

/** The schema of what lies at a path, and how messages name it and what it is part of. */
type Described = { schema: JsonObject | undefined; name: string; of: string };

function describe(root: JsonObject, path: SchemaPath): Described {
  let schema: JsonObject | undefined = root;
  let of = wordsOf(root).name ?? '';
  let named = 0;
  for (const [at, key] of path.entries()) {
    schema = memberSchema(root, schema, key);
    const own = wordsOf(schema).name;
    if (own === undefined) continue;
    of = fill(own, path.slice(0, at + 1), { of });
    named = at + 1;
  }
  const inner = formatPath(path.slice(named));
  const name = inner === '' ? of : named === 0 ? `'${inner}'` : `'${inner}' of ${of}`;
  return { schema, name, of };
}

function memberSchema(root: JsonObject, schema: JsonObject | undefined, key: string | number): JsonObject | undefined {
  const { properties, additionalProperties, items } = schema ?? {};
  const isKnown = isJsonObject(properties) && Object.hasOwn(properties, key);
  const member = typeof key === 'number' ? items : isKnown ? properties[key] : additionalProperties;
  const reference = isJsonObject(member) ? member['$ref'] : undefined;
  const found = typeof reference === 'string' ? resolveLocalRef(root, reference)?.schema : member;
  return isJsonObject(found) ? found : undefined;
}

function faultOf(root: JsonObject, value: JsonValue, error: CheckError): ValueFault | undefined {
  const { keyword, params } = error;
  const { path = [], schema: data = null } = atPointer(value, error.instancePath) ?? {};
  const { schema = {}, name, of } = describe(root, path);
  const words = wordsOf(schema);
  switch (keyword) {
    case 'required':
      return missing(root, path, String(params['missingProperty']));
    case 'additionalProperties': {
      const key = String(params['additionalProperty']);
      const known = isJsonObject(schema['properties']) ? Object.keys(schema['properties']) : [];
      const hint = words.instead?.[key] ?? didYouMean(key, known, known.length);
      const message = `${name} has no key '${key}'`;
      return { code: 'unknown-key', path: [...path, key], at: 'key', message, hint, isOfValue: false };
    }
    case 'propertyNames': {
      const key = String(params['propertyName']);
      return say(words.faults?.[keyword], [...path, key], { name, of, value: key }, false);
    }
    case 'uniqueItems': {
      const item = Math.max(Number(params['i']), Number(params['j']));
      const twice = Array.isArray(data) ? data[item] : undefined;
      return say(words.faults?.[keyword], [...path, item], {
        name,
        of,
        value: typeof twice === 'string' ? twice : shown(twice ?? null),
      });
    }
    case 'oneOf': {
      const passing: unknown = params['passingSchemas'];
      const second = Array.isArray(passing) ? atPointer(schema, `/oneOf/${passing[1]}/required/0`)?.schema : undefined;
      if (typeof second !== 'string') return say(words.faults?.['oneOf none'], path, { name, of }, false);
      return say(words.faults?.[keyword], [...path, second], { name, of }, false);
    }
    default: {
      const [last, around] = [path.at(-1), describe(root, path.slice(0, -1)).schema ?? {}];
      const required: JsonValue[] = [around['required'] ?? []].flat();
      if (data === null && typeof last === 'string' && required.includes(last)) {
        return missing(root, path.slice(0, -1), last);
      }
      const message = `${name} must be ${words.wanted ?? wantedBy(schema, data)}, not ${shown(data)}`;
      const texts = { name, of, shown: shown(data), ...(typeof data === 'string' && { value: data }) };
      return say(words.faults?.[keyword], path, texts) ?? { code: 'wrong-type', path, message, isOfValue: true };
    }
  }
}

function missing(root: JsonObject, path: SchemaPath, key: string): ValueFault {
  const { schema, name } = describe(root, path);
  const own = memberSchema(root, schema, key);
  const [example]: JsonValue[] = [own?.['examples'] ?? []].flat();
  const hint =
    wordsOf(own).needed ?? (example === undefined ? undefined : `such as '${key}: ${JSON.stringify(example)}'`);
  return { code: 'missing-key', path, at: 'key', message: `${name} lacks '${key}'`, hint, isOfValue: false };
}

type Faults = NonNullable<SchemaWords['faults']>;

function say(
  words: Faults[string] | undefined,
  path: SchemaPath,
  texts: Readonly<Record<string, string>>,
  isOfValue: boolean = true,
): ValueFault | undefined {
  if (words === undefined) return undefined;
  const { code, says, hint, at, isReadable = false } = words;
  return { code, path, message: fill(says, path, texts), hint, ...(at && { at }), isOfValue: isOfValue && !isReadable };
}

/** Replaces the names in braces: those of texts, and the keys of a path by their place from its end. */
function fill(template: string, path: SchemaPath, texts: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/gu, (_all, name: string) => {
    const key = path.at(-1 - Number(name));
    return texts[name] ?? String(typeof key === 'number' ? key + 1 : key);
  });
}

/** What a schema asks for: `a whole number from 1 to 9`, `'off' or 'on'`. */
function wantedBy(schema: JsonObject, data: JsonValue): string {
  const { type, enum: choices, items, pattern } = schema;
  if (Array.isArray(choices)) {
    return anyOf(choices.filter((choice) => choice !== null).map(shown));
  }
  const isWithText = typeof pattern === 'string' && typeof data === 'string' && data !== '';
  const kinds: Readonly<Record<string, string>> = {
    string: isWithText ? `a text that matches ${pattern}` : 'a text',
    boolean: 'true or false',
    object: 'a map',
    array: isJsonObject(items) && items['type'] === 'string' ? 'a list of texts' : 'a list',
    integer: `a whole number${rangeOf(schema)}`,
    number: `a number${rangeOf(schema)}`,
  };
  const types: JsonValue[] = [type ?? []].flat();
  return anyOf(types.flatMap((one) => (typeof one === 'string' ? (kinds[one] ?? []) : [])));
}

function rangeOf({ minimum, exclusiveMinimum, maximum }: JsonObject): string {
  const from = exclusiveMinimum === undefined ? ` from ${Number(minimum ?? 0)}` : ` above ${Number(exclusiveMinimum)}`;
  return typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER ? `${from} to ${maximum}` : from;
}

function anyOf(choices: readonly string[]): string {
  const last = choices.at(-1) ?? '';
  return choices.length < 2 ? last : `${choices.slice(0, -1).join(', ')} or ${last}`;
}

const MAX_SHOWN = 40;

function shown(value: JsonValue): string {
  if (value === null) return 'nothing';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const empty = Object.keys(value).length === 0 ? 'an empty' : 'a';
  if (Array.isArray(value)) return `${empty} list`;
  if (typeof value === 'object') return `${empty} map`;
  if (value === '') return 'an empty text';
  return value.length <= MAX_SHOWN && !value.includes('\n') ? `'${value}'` : 'a text';
}

/**
 * The part of a value that its schema knows and that is not at fault: without keys that it does not know, or that are `null`.
 *
 * In a list, and in a map whose keys are names, `null` stands in the place of what is at fault. What a schema says nothing of the inside
 * of, such as a JSON Schema, stays as it is.
 */
export function soundPart(schema: JsonObject, value: JsonValue, faults: readonly ValueFault[]): JsonValue {
  const faulty = new Set(faults.filter(({ isOfValue }) => isOfValue).map(({ path }) => JSON.stringify(path)));
  const part = (inner: JsonValue, own: JsonObject | undefined, path: SchemaPath): JsonValue => {
    if (faulty.has(JSON.stringify(path))) return null;
    if (Array.isArray(inner)) {
      return inner.map((item, at) => part(item, memberSchema(schema, own, at), [...path, at]));
    }
    const { properties, additionalProperties: others } = own ?? {};
    if (!isJsonObject(inner) || (properties === undefined && !isJsonObject(others))) return inner;
    const known: JsonObject = {};
    for (const [key, member] of Object.entries(inner)) {
      const isKnown = isJsonObject(properties) && Object.hasOwn(properties, key);
      if (!isKnown && !isJsonObject(others)) continue;
      const sound = part(member, memberSchema(schema, own, key), [...path, key]);
      if (!isKnown || sound !== null) setMember(known, key, sound);
    }
    return known;
  };
  return part(value, schema, []);
}
