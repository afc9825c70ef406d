import { faultOfLimit, limitNames } from '../../schema/built-in/limits.ts';
import type { Limits } from '../definition.ts';
import type { Report } from '../diagnostics/report.ts';
import { readFields, type Fields } from './fields.ts';

const instead = { maxRounds: "it is called 'maxSteps'", timeout: "it is called 'timeoutMs', in milliseconds" };

/** Reads `limits` of a workflow or a role; `undefined` where there are none. */
export function readLimits(report: Report, parent: Fields): Limits | undefined {
  const value = parent.get('limits');
  if (value === undefined) return undefined;
  const fields = readFields(report, value, parent.pathOf('limits'), `'limits' of ${parent.name}`, limitNames, instead);
  const limits: Limits = {};
  for (const name of limitNames) {
    const limit = fields?.get(name);
    if (limit === undefined) continue;
    const fault = faultOfLimit(name, limit);
    if (fault === undefined) limits[name] = Number(limit);
    else fields?.reportFault('wrong-type', name, `'${name}' of ${fields.name} ${fault}`);
  }
  return Object.keys(limits).length === 0 ? undefined : limits;
}
