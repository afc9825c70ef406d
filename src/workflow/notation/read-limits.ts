import type { JsonValue } from '../../json.ts';
import type { Limits } from '../definition.ts';
import type { Report } from '../report.ts';
import type { Path } from '../source/source-map.ts';
import { readFields, readInteger } from './fields.ts';

const limitNames = ['maxSteps', 'maxVisits', 'timeoutMs', 'idleTimeoutMs', 'maxDepth'] as const;

/** Reads `limits` of a workflow or a role: positive integers; `undefined` where there are none. */
export function readLimits(report: Report, value: JsonValue | undefined, path: Path, of: string): Limits | undefined {
  if (value === undefined || value === null) return undefined;
  const fields = readFields(report, value, path, `'limits' of ${of}`, limitNames, {
    maxRounds: "it is called 'maxSteps'",
    timeout: "it is called 'timeoutMs', in milliseconds",
  });
  if (fields === undefined) return undefined;
  const limits: Limits = {};
  for (const name of limitNames) {
    const limit = readInteger(report, fields, name, { least: 1 });
    if (limit !== undefined) limits[name] = limit;
  }
  return Object.keys(limits).length === 0 ? undefined : limits;
}
