import type { JsonValue } from '../../json.ts';

/**
 * Tells whether a value is a schema of the draft: it names no other draft, and satisfies the draft's own schema. If this is
 * false, the value may be one too: ajv decides, and says why not.
 *
 * The build replaces this file with code that ajv generates from the draft's own schema, because compiling that schema takes
 * longer than most commands run. See `scripts/build/draft-check.js`.
 */
export function isSurelyOfDraft(_schema: JsonValue): boolean {
  return false;
}
