import { isJsonObject, type JsonValue } from '../../json.ts';
import type { Report } from '../report.ts';
import type { Path } from '../source/source-map.ts';
import { conditionProperties } from './file-schema.ts';
import { field, readFields, readText, reportMissing, reportType } from './fields.ts';

/** A named condition: its JSONata, and where that stands. */
export type Condition = { expression: string; path: Path };

/** The named conditions of a workflow, which its graph asks for. */
export class Conditions {
  readonly #byName: Map<string, Condition> = new Map();
  readonly #used: Set<string> = new Set();

  add(name: string, condition: Condition): void {
    this.#byName.set(name, condition);
  }

  get(name: string): Condition | undefined {
    return this.#byName.get(name);
  }

  /** Notes that an edge asks for it. */
  use(name: string): void {
    this.#used.add(name);
  }

  names(): string[] {
    return [...this.#byName.keys()];
  }

  /** Those that no edge has asked for. */
  unused(): [string, Condition][] {
    return [...this.#byName].filter(([name]) => !this.#used.has(name));
  }
}

/** Reads `conditions`: for each name an expression, or a map of `expression` and `description`. */
export function readConditions(report: Report, value: JsonValue | undefined, path: Path): Conditions {
  const conditions = new Conditions();
  if (value === undefined || value === null) return conditions;
  if (!isJsonObject(value)) {
    reportType(report, path, "'conditions'", 'a map from names to expressions', value);
    return conditions;
  }
  for (const [name, item] of Object.entries(value)) {
    const at = [...path, name];
    if (typeof item === 'string') {
      conditions.add(name, { expression: item, path: at });
      continue;
    }
    const fields = readFields(report, item, at, `condition '${name}'`, Object.keys(conditionProperties));
    if (fields === undefined) continue;
    readText(report, fields, 'description');
    const expression = readText(report, fields, 'expression');
    if (field(fields, 'expression') === undefined) reportMissing(report, fields, 'expression');
    if (expression !== undefined) conditions.add(name, { expression, path: [...at, 'expression'] });
  }
  return conditions;
}
