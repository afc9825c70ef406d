import type { JsonValue } from '../../json.ts';
import type { CheckError } from '../../schema/explain-errors.ts';

/** Checks a workflow file against its schema. The build replaces this file by the code that ajv generates from `file-schema.ts`. */
export function errorsOfWorkflow(_value: JsonValue): CheckError[] {
  throw new Error('the build generates this check');
}
