import type { JsonValue } from '../../json.ts';

/**
 * Tells whether a value is surely a schema by the draft: it names no other draft, and follows the draft's own schema. False
 * says nothing; ajv then finds out what is wrong.
 *
 * In what ships the build has put code in the place of this file's, which ajv made of the draft's own schema: compiling
 * that takes ajv longer than most commands run. See `scripts/build/check-plugins.js`.
 */
export function isSurelyOfDraft(_schema: JsonValue): boolean {
  return false;
}
