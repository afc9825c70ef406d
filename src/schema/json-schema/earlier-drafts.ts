import { isJsonObject, type JsonValue } from '../../json.ts';
import { DIALECT } from '../built-in/schema-parts.ts';
import type { SchemaError } from './schema-error.ts';
import { keywordsOfForm, subschemas, type SchemaPath } from './walk-schema.ts';

const lists =
  "a list of schemas, one for each of the first items, is 'prefixItems' in draft 2020-12, and 'items' is the schema of the others";

/** What to write for a keyword that earlier drafts have otherwise, or that has no meaning any more. */
const hints: ReadonlyMap<string, string> = new Map([
  [
    '$schema',
    "delete the line; draft 2020-12 has 'prefixItems' for a list under 'items', 'items' for 'additionalItems', and numbers under 'exclusiveMinimum' and 'exclusiveMaximum'; 'definitions' and 'dependencies' are as before",
  ],
  ['items', lists],
  ['additionalItems', lists],
  ['exclusiveMinimum', "write the number here, in place of 'minimum'"],
  ['exclusiveMaximum', "write the number here, in place of 'maximum'"],
  ['required', "it is a list of names beside 'properties', each once: required: [name]"],
]);

const mapsOfSchemas = keywordsOfForm('map');

/** Returns what to write for the keyword at the end of a path in a schema, if earlier drafts have it otherwise. */
export function hintForDraft(path: SchemaPath): string | undefined {
  const [around, keyword] = [path.at(-2), path.at(-1)];
  // In a map of schemas it is a name of the user's own.
  return mapsOfSchemas.includes(String(around)) ? undefined : hints.get(String(keyword));
}

/** Says which draft a schema, or one in it, names that is not 2020-12; `undefined` if none does. */
export function faultOfDraft(schema: JsonValue): SchemaError | undefined {
  if (!isJsonObject(schema)) return undefined;
  for (const { schema: part, path } of subschemas(schema)) {
    const draft = part['$schema'];
    // The form with an empty fragment names the same draft.
    if (typeof draft !== 'string' || draft.replace(/#$/, '') === DIALECT) continue;
    const pointer = [...path, '$schema'].map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`);
    return { path: pointer.join(''), message: `names the draft '${draft}', and uwf reads draft 2020-12` };
  }
  return undefined;
}
