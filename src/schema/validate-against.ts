import type { JsonValue } from '../json.ts';
import { builtInSchema, type TypeName } from './built-in.ts';
import { DIALECT } from './built-in/schema-parts.ts';
import type { SchemaError } from './schema-error.ts';

/**
 * @returns what is wrong with a value; an empty list means that it is valid
 * @throws {ValidationTimeout} if the schema has a regular expression that does not come to an end on this value
 */
export async function validateAgainst(schema: JsonValue, value: JsonValue): Promise<SchemaError[]> {
  const { compileSchema } = await import('./validator.ts');
  return (await compileSchema(schema))(value);
}

export async function assertSchema(schema: JsonValue): Promise<void> {
  const { assertCompiles } = await import('./validator.ts');
  await assertCompiles(schema);
}

/** Accepts valid payloads without ajv, because compiling these schemas takes longer than most commands run. */
export async function checkBuiltIn(name: TypeName, payload: JsonValue): Promise<SchemaError[]> {
  const schema = builtInSchema(name);
  const { isSurelyOfDraft, isSurelyOfType } = await import('./generated-checks.ts');
  const isValid = schema['$ref'] === DIALECT ? isSurelyOfDraft(payload) : isSurelyOfType(name, payload);
  return isValid ? [] : validateAgainst(schema, payload);
}
