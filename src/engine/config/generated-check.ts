import type { JsonValue } from '../../json.ts';
import type { CheckError } from '../../schema/explain-errors.ts';

/** Checks a configuration file against its schema. The build replaces this file by the code that ajv generates from `config-schema.ts`. */
export function errorsOfConfig(_value: JsonValue): CheckError[] {
  throw new Error('the build generates this check');
}
