import type { JsonValue } from '../../json.ts';

/**
 * Tells whether a value is a schema of the draft: it names no other draft, and satisfies the draft's own schema. If this is
 * false, the value may be one too: ajv decides, and says why not.
 *
 * In what ships the build has put code in the place of this file's, which ajv made of the draft's own schema: compiling
 * that takes ajv longer than most commands run. See `scripts/build/draft-check.js`.
 */
export function isSurelyOfDraft(_schema: JsonValue): boolean {
  return false;
}
