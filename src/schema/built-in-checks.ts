import type { JsonValue } from '../json.ts';
import { builtInSchema } from './built-in.ts';
import type { NodeHash } from '../cas/node-hash.ts';
import type { SchemaError } from './json-schema/schema-error.ts';
import { validateAgainst } from './json-schema/validate-against.ts';

/**
 * Checks a payload against a built-in schema, which its hash names.
 *
 * In what ships the build has put code in the place of this file's that it made of the schemas, with the same answers:
 * compiling them takes ajv longer than most commands run. See `scripts/build/check-plugins.js`.
 * @returns what is wrong with it; an empty list means that it is valid
 */
export function checkBuiltIn(type: NodeHash, payload: JsonValue): Promise<SchemaError[]> {
  return validateAgainst(builtInSchema(type), payload);
}
