import type { JsonValue } from '../json.ts';
import { builtInSchema, type TypeName } from './built-in.ts';
import { DIALECT } from './built-in/schema-parts.ts';
import { accepts, isPlainSchema } from './json-schema/plain-schema.ts';
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
  const isValid = schema['$ref'] === DIALECT ? await isSchema(payload) : accepts(schema, payload);
  return isValid ? [] : validateAgainst(schema, payload);
}

/** Tells whether a value is a schema of the draft. If this is false, it may be one too. */
async function isSchema(value: JsonValue): Promise<boolean> {
  if (isPlainSchema(value)) return true;
  const { isSurelyOfDraft } = await import('./json-schema/draft-check.ts');
  return isSurelyOfDraft(value);
}
