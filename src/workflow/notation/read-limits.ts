import type { JsonValue } from '../../json.ts';
import { faultOfLimit, limitNames } from '../../schema/built-in/limits.ts';
import type { Limits } from '../definition.ts';
import type { Report } from '../report.ts';
import type { Path } from '../source/source-map.ts';
import { field, readFields } from './fields.ts';

/** Reads `limits` of a workflow or a role; `undefined` where there are none. */
export function readLimits(report: Report, value: JsonValue | undefined, path: Path, of: string): Limits | undefined {
  if (value === undefined || value === null) return undefined;
  const fields = readFields(report, value, path, `'limits' of ${of}`, limitNames, {
    maxRounds: "it is called 'maxSteps'",
    timeout: "it is called 'timeoutMs', in milliseconds",
  });
  if (fields === undefined) return undefined;
  const limits: Limits = {};
  for (const name of limitNames) {
    const limit = field(fields, name);
    if (limit === undefined) continue;
    const fault = faultOfLimit(name, limit);
    if (fault === undefined) limits[name] = Number(limit);
    else report.error('wrong-type', [...path, name], `'${name}' of ${fields.name} ${fault}`);
  }
  return Object.keys(limits).length === 0 ? undefined : limits;
}
