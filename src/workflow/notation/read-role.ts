import { isAbsolute } from 'node:path';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import type { RoleCheck, RoleDefinition } from '../definition.ts';
import type { Report } from '../report.ts';
import type { Path } from '../source/source-map.ts';
import { field, readFields, readInteger, readText, reportMissing, reportType, type Fields } from './fields.ts';
import { checkProperties, retriesBounds, roleProperties } from './file-schema.ts';
import { readLimits } from './read-limits.ts';

const instead = {
  prompt: "a role's instructions are its 'systemPrompt'; a 'prompt' belongs to a rule",
  system: "it is called 'systemPrompt'",
  outputSchema: "it is called 'schema'",
  agent: "agents are bound in the configuration ('roles'), never by a workflow",
  maxVisits: "it belongs under 'limits'",
  timeoutMs: "it belongs under 'limits'",
};

/** A role, and where the parts that are checked further stand. */
export type ReadRole = {
  role: RoleDefinition;
  schemaPath: Path;
  hasSchema: boolean;
  /** Where the expressions of `role.check` stand, in the same order. */
  checkPaths: Path[];
};

/** Reads a role in any notation. What is missing or wrong is reported and read as empty, so that all else can be checked. */
export function readRole(report: Report, name: string, value: JsonValue, path: Path): ReadRole {
  const fields = readFields(report, value, path, `role '${name}'`, Object.keys(roleProperties), instead);
  if (fields === undefined) {
    const role = { description: '', systemPrompt: '', extractPrompt: '', schema: {} };
    return { role, schemaPath: path, hasSchema: false, checkPaths: [] };
  }
  const schemaKey = field(fields, 'schema') === undefined ? 'frontmatter' : 'schema';
  const schema = readSchema(report, fields, schemaKey);
  const { checks, checkPaths } = readChecks(report, fields);
  const limits = readLimits(report, field(fields, 'limits'), [...path, 'limits'], fields.name);
  const retries = readInteger(report, fields, 'retries', retriesBounds);
  const snapshot = readSnapshot(report, fields);
  const cwd = readCwd(report, fields);
  const role: RoleDefinition = {
    description: readText(report, fields, 'description') ?? '',
    systemPrompt: joinPrompt(report, fields),
    extractPrompt: readText(report, fields, 'extractPrompt') ?? '',
    schema: schema ?? {},
    ...(checks.length > 0 && { check: checks }),
    ...(limits && { limits }),
    ...(retries !== undefined && { retries }),
    ...(snapshot && { snapshot }),
    ...(cwd !== undefined && { cwd }),
  };
  return { role, schemaPath: [...path, schemaKey], hasSchema: schema !== undefined, checkPaths };
}

/** One prompt of the four parts that United Workforce writes apart, each under its heading. */
function joinPrompt(report: Report, fields: Fields): string {
  const parts: string[] = [];
  const add = (heading: string, text: string | undefined): void => {
    if (text !== undefined && text.trim() !== '') parts.push(`## ${heading}\n\n${text.trim()}\n`);
  };
  const systemPrompt = readText(report, fields, 'systemPrompt');
  add('Goal', readText(report, fields, 'goal'));
  add('Capabilities', readCapabilities(report, fields));
  add('Procedure', readText(report, fields, 'procedure'));
  add('Output', readText(report, fields, 'output'));
  if (parts.length === 0) return systemPrompt ?? '';
  if (systemPrompt !== undefined) parts.unshift(`${systemPrompt.trim()}\n`);
  return parts.join('\n');
}

function readCapabilities(report: Report, fields: Fields): string | undefined {
  const value = field(fields, 'capabilities');
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
    return value.map((item) => `- ${item}`).join('\n');
  }
  reportType(report, [...fields.path, 'capabilities'], `'capabilities' of ${fields.name}`, 'a list of texts', value);
  return undefined;
}

function readSchema(report: Report, fields: Fields, key: string): JsonObject | undefined {
  const value = field(fields, key);
  if (key === 'schema' && field(fields, 'frontmatter') !== undefined) {
    report.error('two-schemas', [...fields.path, 'frontmatter'], `${fields.name} has both 'schema' and 'frontmatter'`, {
      hint: 'they are the same; keep one',
      at: 'key',
    });
  }
  if (value === undefined) {
    reportMissing(
      report,
      fields,
      'schema',
      'what it reports, as JSON Schema: schema: { type: object, properties: { … } }',
    );
    return undefined;
  }
  if (isJsonObject(value)) return value;
  reportType(report, [...fields.path, key], `'${key}' of ${fields.name}`, 'a JSON Schema (a map)', value);
  return undefined;
}

function readChecks(report: Report, parent: Fields): { checks: RoleCheck[]; checkPaths: Path[] } {
  const value = field(parent, 'check');
  const checkPaths: Path[] = [];
  if (value === undefined) return { checks: [], checkPaths };
  const isList = Array.isArray(value);
  const checks: RoleCheck[] = [];
  for (const [index, item] of (isList ? value : [value]).entries()) {
    const path = isList ? [...parent.path, 'check', index] : [...parent.path, 'check'];
    const fields = readFields(report, item, path, `a check of ${parent.name}`, Object.keys(checkProperties));
    if (fields === undefined) continue;
    const expression = readText(report, fields, 'expression');
    const message = readText(report, fields, 'message');
    if (field(fields, 'expression') === undefined)
      reportMissing(report, fields, 'expression', 'JSONata that is true for a good reply');
    if (field(fields, 'message') === undefined)
      reportMissing(report, fields, 'message', 'what the agent is told when it is false');
    if (expression === undefined) continue;
    checks.push({ expression, message: message ?? '' });
    checkPaths.push([...path, 'expression']);
  }
  return { checks, checkPaths };
}

function readSnapshot(report: Report, fields: Fields): RoleDefinition['snapshot'] {
  const value = field(fields, 'snapshot');
  if (value === undefined || value === 'off' || value === 'on' || value === 'changed') return value;
  // YAML 1.1 habits: `on` and `off` are texts in 1.2, but people write true and false.
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  reportType(report, [...fields.path, 'snapshot'], `'snapshot' of ${fields.name}`, "'off', 'on' or 'changed'", value);
  return undefined;
}

function readCwd(report: Report, fields: Fields): string | undefined {
  const cwd = readText(report, fields, 'cwd');
  if (cwd === undefined || (cwd !== '' && !isAbsolute(cwd) && !cwd.split(/[/\\]/).includes('..'))) return cwd;
  report.error(
    'bad-cwd',
    [...fields.path, 'cwd'],
    `'cwd' of ${fields.name} must be a folder of the work tree, relative to its top`,
  );
  return undefined;
}
