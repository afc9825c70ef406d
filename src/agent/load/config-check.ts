import type { JsonObject } from '../../json.ts';

/**
 * Tells whether a configuration satisfies the schema of a built-in agent. If this is false, it may be valid too: ajv decides,
 * and says why not.
 *
 * In what ships the build has put code in the place of this file's, which ajv made of the agents' schemas. See
 * `scripts/build/check-plugins.js`.
 * @param _reference the package, `builtin:command`
 */
export function isSurelyConfigOf(_reference: string, _config: JsonObject): boolean {
  return false;
}
