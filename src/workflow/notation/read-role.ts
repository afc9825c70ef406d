import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { faultOfLimit, isolations, limitNames, unknownUsages } from '../../schema/built-in/schema-parts.ts';
import type { Limits, RoleCheck, RoleDefinition, ThreadLimits } from '../definition.ts';
import type { Report } from '../diagnostics/report.ts';
import type { Path } from '../source/source-map.ts';
import { type Fields, readFields, reportType } from './fields.ts';
import { checkProperties, isInside, label, MAX_NEEDS, retriesBounds, roleProperties } from './file-schema.ts';

const instead = {
  prompt: "a role's instructions are its 'systemPrompt'; a 'prompt' belongs to a rule",
  system: "it is called 'systemPrompt'",
  outputSchema: "it is called 'schema'",
  agent: "agents are bound in the configuration ('roles'), never by a workflow",
  maxVisits: "it belongs under 'limits'",
  timeoutMs: "it belongs under 'limits'",
};

/** A role, and the places of its parts that are checked later. */
export type ReadRole = {
  role: RoleDefinition;
  schemaPath: Path;
  hasSchema: boolean;
  /** Where the expressions of `role.check` stand, in the same order. */
  checkPaths: Path[];
};

/** Reads a role in any notation. Faulty parts are reported and read as empty, so that the others can still be checked. */
export function readRole(report: Report, name: string, value: JsonValue, path: Path): ReadRole {
  const fields = readFields(report, value, path, `role '${name}'`, Object.keys(roleProperties), instead);
  if (fields === undefined) {
    const role = { description: '', systemPrompt: '', extractPrompt: '', schema: {} };
    return { role, schemaPath: path, hasSchema: false, checkPaths: [] };
  }
  const schemaKey = fields.get('schema') === undefined ? 'frontmatter' : 'schema';
  const schema = readSchema(fields, schemaKey);
  const { checks, checkPaths } = readChecks(report, fields);
  const limits = readLimits(report, fields);
  const retries = fields.integer('retries', retriesBounds);
  const snapshot = readSnapshot(fields);
  const cwd = readCwd(fields);
  const isolation = fields.oneOf('isolation', isolations);
  const needs = readNeeds(report, fields);
  const role: RoleDefinition = {
    description: fields.text('description') ?? '',
    systemPrompt: joinPrompt(fields),
    extractPrompt: fields.text('extractPrompt') ?? '',
    schema: schema ?? {},
    ...(checks.length > 0 && { check: checks }),
    ...(limits && { limits }),
    ...(retries !== undefined && { retries }),
    ...(snapshot && { snapshot }),
    ...(cwd !== undefined && { cwd }),
    ...(isolation && { isolation }),
    ...(needs.length > 0 && { needs }),
  };
  return { role, schemaPath: fields.pathOf(schemaKey), hasSchema: schema !== undefined, checkPaths };
}

/** Joins the four parts of a prompt in the notation of United Workforce, each under its heading. */
function joinPrompt(fields: Fields): string {
  const systemPrompt = fields.text('systemPrompt');
  const parts = Object.entries({
    Goal: fields.text('goal'),
    Capabilities: readCapabilities(fields),
    Procedure: fields.text('procedure'),
    Output: fields.text('output'),
  }).flatMap(([heading, text = '']) => (text.trim() === '' ? [] : [`## ${heading}\n\n${text.trim()}\n`]));
  if (parts.length === 0) return systemPrompt ?? '';
  return [...(systemPrompt === undefined ? [] : [`${systemPrompt.trim()}\n`]), ...parts].join('\n');
}

function readCapabilities(fields: Fields): string | undefined {
  const value = fields.get('capabilities');
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
    return value.map((item) => `- ${item}`).join('\n');
  }
  fields.reportType('capabilities', 'a list of texts');
  return undefined;
}

function readSchema(fields: Fields, key: 'schema' | 'frontmatter'): JsonObject | undefined {
  const value = fields.get(key);
  if (key === 'schema' && fields.get('frontmatter') !== undefined) {
    const options = { hint: 'they are the same; keep one', at: 'key' } as const;
    fields.reportFault('two-schemas', 'frontmatter', `${fields.name} has both 'schema' and 'frontmatter'`, options);
  }
  if (isJsonObject(value)) return value;
  const hint = 'what it reports, as JSON Schema: schema: { type: object, properties: { … } }';
  if (value === undefined) fields.reportMissing('schema', hint);
  else fields.reportType(key, 'a JSON Schema (a map)');
  return undefined;
}

function readChecks(report: Report, parent: Fields): { checks: RoleCheck[]; checkPaths: Path[] } {
  const value = parent.get('check') ?? [];
  const path = parent.pathOf('check');
  const items = Array.isArray(value)
    ? value.map((item, index) => ({ item, path: [...path, index] }))
    : [{ item: value, path }];
  const checks: RoleCheck[] = [];
  const checkPaths: Path[] = [];
  for (const { item, path } of items) {
    const fields = readFields(report, item, path, `a check of ${parent.name}`, Object.keys(checkProperties));
    const expression = fields?.text('expression');
    const message = fields?.text('message');
    fields?.need('expression', 'JSONata that is true for a good reply');
    fields?.need('message', 'what the agent is told when it is false');
    if (expression === undefined) continue;
    checks.push({ expression, message: message ?? '' });
    checkPaths.push([...path, 'expression']);
  }
  return { checks, checkPaths };
}

function readSnapshot(fields: Fields): RoleDefinition['snapshot'] {
  const value = fields.get('snapshot');
  if (value === undefined || value === 'off' || value === 'on' || value === 'changed') return value;
  // A habit of YAML 1.1: `on` and `off` are texts in 1.2, but people write true and false.
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  fields.reportType('snapshot', "'off', 'on' or 'changed'");
  return undefined;
}

function readCwd(fields: Fields): string | undefined {
  const cwd = fields.text('cwd');
  if (isInside(cwd)) return cwd;
  const message = `'cwd' of ${fields.name} must be a folder of the work tree, relative to its top`;
  fields.reportFault('bad-cwd', 'cwd', message);
  return undefined;
}

const labelRule = 'a label has up to 64 of a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit';

/**
 * Reads the `needs` of a role. A label that is wrong, or there twice, is reported and left out.
 * @returns sorted, each once
 */
function readNeeds(report: Report, fields: Fields): string[] {
  const value = fields.get('needs') ?? [];
  if (!Array.isArray(value)) {
    fields.reportType('needs', 'a list of labels, such as [docker, gpu]');
    return [];
  }
  if (value.length > MAX_NEEDS) {
    const message = `${fields.name} needs ${value.length} labels, and at most ${MAX_NEEDS} are allowed`;
    fields.reportFault('too-large', 'needs', message);
  }
  const labels = new Set<string>();
  for (const [at, text] of value.entries()) {
    const path = [...fields.pathOf('needs'), at];
    const what = `a label in 'needs' of ${fields.name}`;
    if (typeof text !== 'string') reportType(report, path, what, 'a text', text);
    else if (!label.test(text)) report.error('bad-label', path, `'${text}' cannot be ${what}`, { hint: labelRule });
    else if (labels.has(text)) report.error('bad-label', path, `${fields.name} needs '${text}' twice`);
    else labels.add(text);
  }
  return [...labels].toSorted();
}

const UNKNOWN_USAGE = 'unknownUsage';

const insteadOfLimits = {
  maxRounds: "it is called 'maxSteps'",
  timeout: "it is called 'timeoutMs', in milliseconds",
  [UNKNOWN_USAGE]: "it belongs under the 'limits' of the workflow",
};

/** Reads `limits` of a role; `undefined` where there are none. */
function readLimits(report: Report, parent: Fields): Limits | undefined {
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
  return readFields(report, value, parent.pathOf('limits'), `'limits' of ${parent.name}`, known, insteadOfLimits);
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
