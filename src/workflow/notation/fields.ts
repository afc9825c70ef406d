import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { didYouMean, type Report, type ReportOptions } from '../diagnostics/report.ts';
import type { Path } from '../source/source-map.ts';
import type { Bounds } from './file-schema.ts';

/** Reports a value of the wrong type. @param what the value, as a message names it */
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

function typeName(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : 'a text';
}

/**
 * Takes a value as a map and reports its unknown keys; `x-…` is free for anything.
 * @param name how messages name the map: `role 'writer'`
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
  return new Fields(report, value, path, name);
}

/** A map of the source whose keys are being read. */
export class Fields {
  readonly path: Path;
  /** How messages name it: `role 'writer'`. */
  readonly name: string;
  readonly #report: Report;
  readonly #values: JsonObject;

  constructor(report: Report, values: JsonObject, path: Path, name: string) {
    this.#report = report;
    this.#values = values;
    this.path = path;
    this.name = name;
  }

  /** The value of a key, its own only; `null` counts as absent. */
  get(key: string): JsonValue | undefined {
    return Object.hasOwn(this.#values, key) ? (this.#values[key] ?? undefined) : undefined;
  }

  pathOf(key: string): Path {
    return [...this.path, key];
  }

  /** Reports a key that has to be there and is not. */
  need(key: string, hint?: string): void {
    if (this.get(key) === undefined) this.reportMissing(key, hint);
  }

  reportMissing(key: string, hint?: string): void {
    this.#report.error('missing-key', this.path, `${this.name} lacks '${key}'`, { hint, at: 'key' });
  }

  /** Reports another fault of the value of a key. */
  reportFault(code: string, key: string, message: string, options?: ReportOptions): void {
    this.#report.error(code, this.pathOf(key), message, options);
  }

  /** Reports that the value of a key has the wrong type. */
  reportType(key: string, wanted: string): void {
    reportType(this.#report, this.pathOf(key), `'${key}' of ${this.name}`, wanted, this.get(key));
  }

  /** A text, or `undefined` where it is absent or (reported) something else. */
  text(key: string): string | undefined {
    const value = this.get(key);
    if (value === undefined || typeof value === 'string') return value;
    this.reportType(key, 'a text');
    return undefined;
  }

  /** One of some texts, or `undefined` where it is absent or (reported) something else. */
  oneOf<T extends string>(key: string, choices: readonly T[]): T | undefined {
    const value = this.get(key);
    const choice = choices.find((each) => each === value);
    if (choice !== undefined || value === undefined) return choice;
    this.reportType(key, `one of ${choices.join(', ')}`);
    return undefined;
  }

  /** An integer within bounds, or `undefined` where it is absent or (reported) something else. */
  integer(key: string, { minimum, maximum }: Bounds): number | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return value;
    this.reportType(key, `an integer from ${minimum} to ${maximum}`);
    return undefined;
  }
}
