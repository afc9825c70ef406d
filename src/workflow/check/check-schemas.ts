import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { nearestName } from '../../nearest-name.ts';
import { compileSchema, InvalidSchema } from '../../schema/validator.ts';
import type { Reduction, SourceRole } from '../notation/reduce-workflow.ts';
import { schemaKeywords, schemaLists, schemaMaps, schemaPlaces, schemaTypes } from '../notation/schema-keywords.ts';
import type { Report } from '../report.ts';
import type { Path } from '../source/source-map.ts';
import type { SchemaShape } from './schema-shape.ts';

/** What templates always see, under names that a field should not have too. */
const taken: Readonly<Record<string, string>> = {
  steps: 'the steps so far',
  start: "the thread's beginning",
  threadId: "the thread's id",
};

/** Checks that every role's schema is one, and that its fields do not hide what templates always see. */
export async function checkSchemas(
  report: Report,
  reduction: Reduction,
  shapes: ReadonlyMap<string, SchemaShape>,
): Promise<void> {
  for (const role of reduction.roles) {
    if (!role.hasSchema) continue;
    await checkSchema(report, role);
    reportMisspelt(report, role, role.role.schema, role.schemaPath);
    const names = shapes.get(role.name)?.fields().names ?? new Set();
    if (names.has('_body')) {
      report.error(
        'reserved-field',
        role.schemaPath,
        `the schema of role '${role.name}' has a field '_body', which is the reply's text`,
        { hint: 'call it something else', at: 'key' },
      );
    }
    for (const [name, meaning] of Object.entries(taken)) {
      if (!names.has(name)) continue;
      report.warning(
        'reserved-field',
        role.schemaPath,
        `the schema of role '${role.name}' has a field '${name}', which templates after it cannot tell from ${meaning}`,
        { hint: 'call it something else', at: 'key' },
      );
    }
  }
}

async function checkSchema(report: Report, role: SourceRole): Promise<void> {
  try {
    await compileSchema(role.role.schema);
  } catch (error) {
    if (!(error instanceof InvalidSchema)) throw error;
    // A place that is wrong in several ways (a `type` that is none) is one mistake.
    const byPath = new Map(error.errors.toReversed().map(({ path, message }) => [path, message]));
    for (const [path, message] of [...byPath].toReversed()) {
      const inside = splitPointer(role.role.schema, path);
      const where = path === '' ? '' : `'${inside.join('.')}' `;
      report.error(
        'invalid-schema',
        [...role.schemaPath, ...inside],
        `the schema of role '${role.name}' is no JSON Schema: ${where}${message}`,
        { hint: inside.at(-1) === 'type' ? `a type is one of ${schemaTypes.join(', ')}` : undefined },
      );
    }
  }
}

/** Source: RFC 6901. */
function splitPointer(schema: JsonValue, pointer: string): Path {
  let value: JsonValue | undefined = schema;
  return pointer
    .split('/')
    .slice(1)
    .map((part) => {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      const key = Array.isArray(value) ? Number(name) : name;
      if (Array.isArray(value)) value = value[Number(name)];
      else value = isJsonObject(value) ? value[name] : undefined;
      return key;
    });
}

/** JSON Schema passes over keywords it does not know; one letter off, a schema that was to require something requires nothing. */
function reportMisspelt(report: Report, role: SourceRole, schema: JsonObject, path: Path): void {
  for (const [key, value] of Object.entries(schema)) {
    const at = [...path, key];
    if (!schemaKeywords.has(key)) {
      const near = key.startsWith('x-') ? undefined : nearestName(key, schemaKeywords);
      if (near === undefined) continue;
      report.warning(
        'unknown-keyword',
        at,
        `the schema of role '${role.name}' has '${key}', which JSON Schema passes over`,
        {
          hint: `did you mean '${near}'?`,
          at: 'key',
        },
      );
      continue;
    }
    if (schemaPlaces.has(key) && isJsonObject(value)) reportMisspelt(report, role, value, at);
    if (schemaMaps.has(key) && isJsonObject(value)) {
      for (const [name, item] of Object.entries(value)) {
        if (isJsonObject(item)) reportMisspelt(report, role, item, [...at, name]);
      }
    }
    if (schemaLists.has(key) && Array.isArray(value)) {
      for (const [index, item] of value.entries())
        if (isJsonObject(item)) reportMisspelt(report, role, item, [...at, index]);
    }
  }
}
