import { isJsonObject, type JsonObject } from '../../json.ts';

/**
 * Says what is wrong with a value that a simple schema describes (a type with a least number, a text with a pattern, a list of
 * texts, or a list of choices), as a sentence goes on after its name; `undefined` if nothing is.
 */
export function faultOfValue(schema: JsonObject, value: unknown): string | undefined {
  const { type, enum: choices, pattern, minimum, exclusiveMinimum = 0 } = schema;
  if (Array.isArray(choices)) {
    const [last, ...others] = choices.map((choice) => JSON.stringify(choice).replaceAll('"', "'")).toReversed();
    return choices.some((choice) => choice === value)
      ? undefined
      : `must be ${others.toReversed().join(', ')} or ${last}`;
  }
  switch (type) {
    case 'string':
      if (typeof value !== 'string' || value === '') return 'must be a text';
      return typeof pattern !== 'string' || new RegExp(pattern, 'u').test(value) ? undefined : `must match ${pattern}`;
    case 'array':
      return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string' && item !== '')
        ? undefined
        : 'must be a list of texts';
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'number':
      if (minimum !== undefined) {
        const isFrom = Number.isFinite(value) && Number(value) >= Number(minimum);
        return isFrom ? undefined : `must be a number from ${Number(minimum)}`;
      }
      return Number.isFinite(value) && Number(value) > Number(exclusiveMinimum)
        ? undefined
        : `must be a number above ${Number(exclusiveMinimum)}`;
    case 'integer':
      return Number.isSafeInteger(value) && Number(value) >= Number(minimum ?? 0)
        ? undefined
        : `must be a whole number from ${Number(minimum ?? 0)}`;
    default:
      return isJsonObject(value) ? undefined : 'must be a map';
  }
}
