import type { JsonValue } from '../json.ts';
import { builtInSchema, type TypeName } from './built-in.ts';
import { DIALECT } from './built-in/schema-parts.ts';
import type { SchemaError } from './json-schema/schema-error.ts';
import { validateAgainst } from './json-schema/validate-against.ts';

/**
 * Checks a payload against a built-in schema.
 *
 * Valid payloads are accepted without ajv, because compiling these schemas takes longer than most commands run.
 * @returns what is wrong with it; an empty list means that it is valid
 */
export async function checkBuiltIn(name: TypeName, payload: JsonValue): Promise<SchemaError[]> {
  const schema = builtInSchema(name);
  const { isSurelyOfDraft, isSurelyOfType } = await import('./json-schema/generated-checks.ts');
  const isValid = schema['$ref'] === DIALECT ? isSurelyOfDraft(payload) : isSurelyOfType(name, payload);
  return isValid ? [] : validateAgainst(schema, payload);
}
