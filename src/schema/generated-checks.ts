import type { JsonValue } from '../json.ts';
import type { TypeName } from './built-in.ts';

// The build replaces this file with code that ajv generates from the draft's own schema and from the built-in ones, because compiling
// these takes longer than most commands run. See `scripts/build/generated-checks.js`. Where a function says false, the value may be right
// too: ajv decides, and says why not.

/** Tells whether a value is a schema of the draft: it names no other draft, and satisfies the draft's own schema. */
export function isSurelyOfDraft(_schema: JsonValue): boolean {
  return false;
}

/** Tells whether a payload satisfies a built-in schema. */
export function isSurelyOfType(_name: TypeName, _payload: JsonValue): boolean {
  return false;
}
