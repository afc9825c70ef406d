import { faultOfLimit, limitNames, unknownUsages } from '../../schema/built-in/schema-parts.ts';
import type { Limits, ThreadLimits } from '../definition.ts';
import type { Report } from '../diagnostics/report.ts';
import { readFields, type Fields } from './fields.ts';

const UNKNOWN_USAGE = 'unknownUsage';

const instead = {
  maxRounds: "it is called 'maxSteps'",
  timeout: "it is called 'timeoutMs', in milliseconds",
  [UNKNOWN_USAGE]: "it belongs under the 'limits' of the workflow",
};

/** Reads `limits` of a role; `undefined` where there are none. */
export function readLimits(report: Report, parent: Fields): Limits | undefined {
  return limitsIn(readLimitFields(report, parent, limitNames));
}

/** Reads `limits` of a workflow; `undefined` where there are none. */
export function readThreadLimits(report: Report, parent: Fields): ThreadLimits | undefined {
  const fields = readLimitFields(report, parent, [...limitNames, UNKNOWN_USAGE]);
  const limits = limitsIn(fields);
  const unknownUsage = fields?.oneOf(UNKNOWN_USAGE, unknownUsages);
  return unknownUsage === undefined ? limits : { ...limits, unknownUsage };
}

function readLimitFields(report: Report, parent: Fields, known: readonly string[]): Fields | undefined {
  const value = parent.get('limits');
  if (value === undefined) return undefined;
  return readFields(report, value, parent.pathOf('limits'), `'limits' of ${parent.name}`, known, instead);
}

function limitsIn(fields: Fields | undefined): Limits | undefined {
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
