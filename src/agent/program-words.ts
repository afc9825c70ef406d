import { isJsonObject } from '../json.ts';
import type { JsonObject, JsonValue } from '../json.ts';

/** Keys of a configuration under which a text, or each text of a list, is a program or goes to one as it is. */
const PROGRAM_KEYS: readonly string[] = ['argv', 'command', 'args'];

/**
 * Gives a configuration with every text in it, at any depth, replaced.
 * @param replace is told whether the text as a whole is a word of a program's command line
 */
export function mapTexts(config: JsonObject, replace: (text: string, isProgramWord: boolean) => string): JsonObject {
  const map = (value: JsonValue, isProgramWord: boolean): JsonValue => {
    if (typeof value === 'string') return replace(value, isProgramWord);
    if (Array.isArray(value)) return value.map((item) => map(item, isProgramWord));
    return isJsonObject(value) ? mapMembers(value) : value;
  };
  const mapMembers = (object: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(object).map(([key, value]) => [key, map(value ?? null, PROGRAM_KEYS.includes(key))]),
    );
  return mapMembers(config);
}
