import { isJsonObject, type JsonObject } from '../../json.ts';

/**
 * Says what is wrong with a value that a simple schema describes (a type with a least number, or a list of choices), as a
 * sentence goes on after its name; `undefined` if nothing is.
 */
export function faultOfValue(schema: JsonObject, value: unknown): string | undefined {
  const { type, enum: choices, minimum = 0, exclusiveMinimum = 0 } = schema;
  if (Array.isArray(choices)) {
    const [last, ...others] = choices.map((choice) => JSON.stringify(choice).replaceAll('"', "'")).toReversed();
    return choices.some((choice) => choice === value)
      ? undefined
      : `must be ${others.toReversed().join(', ')} or ${last}`;
  }
  switch (type) {
    case 'string':
      return typeof value === 'string' && value !== '' ? undefined : 'must be a text';
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'number':
      return Number.isFinite(value) && Number(value) > Number(exclusiveMinimum)
        ? undefined
        : `must be a number above ${Number(exclusiveMinimum)}`;
    case 'integer':
      return Number.isSafeInteger(value) && Number(value) >= Number(minimum)
        ? undefined
        : `must be a whole number from ${Number(minimum)}`;
    default:
      return isJsonObject(value) ? undefined : 'must be a map';
  }
}
