import type { JsonValue } from '../json.ts';
import { builtInSchema } from './built-in.ts';
import type { TypeName } from './built-in.ts';
import type { SchemaError } from './schema-error.ts';
import { validateAgainst } from './validator.ts';

/**
 * Checks a payload against the schema of a built-in type.
 *
 * In what ships the build has put code in the place of this file's that it made of the schemas, with the same answers:
 * compiling them takes ajv longer than most commands run. See `scripts/build/built-in-checks-plugin.js`.
 * @returns what is wrong with it; an empty list means that it is valid
 */
export function checkBuiltIn(name: TypeName, payload: JsonValue): Promise<SchemaError[]> {
  return validateAgainst(builtInSchema(name), payload);
}
