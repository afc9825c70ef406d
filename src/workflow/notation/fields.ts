import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { didYouMean } from '../did-you-mean.ts';
import type { Report } from '../report.ts';
import type { Path } from '../source/source-map.ts';
import type { Bounds } from './file-schema.ts';

/** A map of the source whose keys are being read, and how to speak of it: `role 'writer'`. */
export type Fields = { values: JsonObject; path: Path; name: string };

/** Names the JSON type of a value, as a message says it. */
export function typeName(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  if (typeof value === 'string') return 'a text';
  return typeof value === 'boolean' ? 'true or false' : 'a number';
}

/** Reports a value of the wrong type. */
export function reportType(
  report: Report,
  path: Path,
  what: string,
  wanted: string,
  value: JsonValue | undefined,
): void {
  const got = typeof value === 'number' || typeof value === 'boolean' ? String(value) : typeName(value);
  report.error('wrong-type', path, `${what} must be ${wanted}, not ${got}`);
}

/**
 * Takes a value as a map and reports the keys that nobody knows; `x-…` is everybody's own.
 * @param instead what to write in place of keys that are often tried
 * @returns `undefined` for what is no map
 */
export function readFields(
  report: Report,
  value: JsonValue | undefined,
  path: Path,
  name: string,
  known: readonly string[],
  instead: Readonly<Record<string, string>> = {},
): Fields | undefined {
  if (!isJsonObject(value)) {
    reportType(report, path, name, 'a map', value);
    return undefined;
  }
  for (const key of Object.keys(value)) {
    if (known.includes(key) || key.startsWith('x-')) continue;
    const hint = Object.hasOwn(instead, key) ? instead[key] : didYouMean(key, known, known.length);
    report.error('unknown-key', [...path, key], `${name} has no key '${key}'`, { hint, at: 'key' });
  }
  return { values: value, path, name };
}

/** The value of a key, its own only; `null` counts as absent. */
export function field({ values }: Fields, key: string): JsonValue | undefined {
  return Object.hasOwn(values, key) ? (values[key] ?? undefined) : undefined;
}

/** Reports a key that has to be there. */
export function reportMissing(report: Report, { path, name }: Fields, key: string, hint?: string): void {
  report.error('missing-key', path, `${name} lacks '${key}'`, { hint, at: 'key' });
}

/** A text, or `undefined` where it is absent or (reported) something else. */
export function readText(report: Report, fields: Fields, key: string): string | undefined {
  const value = field(fields, key);
  if (value === undefined || typeof value === 'string') return value;
  reportType(report, [...fields.path, key], `'${key}' of ${fields.name}`, 'a text', value);
  return undefined;
}

/** An integer within bounds, or `undefined` where it is absent or (reported) something else. */
export function readInteger(
  report: Report,
  fields: Fields,
  key: string,
  { minimum, maximum }: Bounds,
): number | undefined {
  const value = field(fields, key);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return value;
  const wanted = `an integer from ${minimum} to ${maximum}`;
  const got = typeof value === 'number' ? String(value) : typeName(value);
  report.error('wrong-type', [...fields.path, key], `'${key}' of ${fields.name} must be ${wanted}, not ${got}`);
  return undefined;
}
