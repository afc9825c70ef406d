import type { JsonObject, JsonValue } from '../../json.ts';
import { validateAgainst } from '../../schema/validate-against.ts';

/**
 * Holds a value against a JSON Schema (2020-12) and says what is wrong, one sentence for each mistake; none when all is
 * well.
 *
 * The sentences are for people and agents: each names its place from `root` on (`meta.words must be an integer`).
 * @throws {InvalidSchema} when the schema is none
 * @throws {ValidationTimeout} when a regular expression of the schema does not come to an end
 */
export async function checkValue(schema: JsonObject, value: JsonValue, root: string): Promise<string[]> {
  const errors = await validateAgainst(schema, value);
  return errors.map(({ path, message }) => `${placeOf(path, root)} ${message}`);
}

/** Writes a JSON pointer (RFC 6901) as one writes it in a program: `meta.phases[0].hash`. */
function placeOf(pointer: string, root: string): string {
  const names = pointer.split('/').slice(1);
  return names
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((place, name) => {
      if (/^\d+$/u.test(name)) return `${place}[${name}]`;
      return /^[\w$-]+$/u.test(name) ? `${place}.${name}` : `${place}[${JSON.stringify(name)}]`;
    }, root);
}
