import { mapTexts } from '../../json.ts';
import type { JsonObject } from '../../json.ts';

/** Keys of a configuration under which a text, or each text of a list, is a program or goes to one as it is. */
const PROGRAM_KEYS: readonly string[] = ['argv', 'command', 'args'];

/**
 * Gives a configuration with every text in it, at any depth, replaced.
 * @param replace is told whether the text as a whole is a word of a program's command line
 */
export function mapConfigTexts(
  config: JsonObject,
  replace: (text: string, isProgramWord: boolean) => string,
): JsonObject {
  return mapTexts(config, (text, key) => replace(text, PROGRAM_KEYS.includes(key)));
}
