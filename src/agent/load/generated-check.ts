import type { JsonObject } from '../../json.ts';

/**
 * Tells whether a configuration satisfies the schema of the agent of this name that comes with uwf (`command`). Where it says false, the
 * configuration may be right too: ajv decides, and says why not. The build replaces this file by the code that ajv generates.
 */
export function isSurelyConfigOf(_agent: string, _config: JsonObject): boolean {
  return false;
}
