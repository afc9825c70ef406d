import type { JsonObject } from '../../json.ts';
import type { SchemaError } from '../../schema/json-schema/schema-error.ts';
import { validateAgainst } from '../../schema/json-schema/validate-against.ts';
import { memberPointer, type FilledIn } from './read-form-fields.ts';

/** Holds what was filled in against a schema: what is wrong, each at the field that it is about. */
export async function checkFields(schema: JsonObject, { value, errors }: FilledIn): Promise<SchemaError[]> {
  const unreadable = new Set(errors.map(({ path }) => path));
  const found = (await validateAgainst(schema, value)).map(atItsField);
  return [...errors, ...found.filter(({ path }) => !unreadable.has(path))];
}

/** What an object lacks is said at the field that was left empty. */
function atItsField(error: SchemaError): SchemaError {
  const [, name] = /^lacks the property '(.*?)'(?:, which .*)?$/u.exec(error.message) ?? [];
  return name === undefined ? error : { path: memberPointer(error.path, name), message: 'is missing' };
}
