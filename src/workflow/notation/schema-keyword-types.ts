import type { JsonObject } from '../../json.ts';
import { keywordsOfForm } from '../../schema/json-schema/walk-schema.ts';

/** What `type` may say. */
export const schemaTypes: readonly string[] = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

const schema: JsonObject = { $ref: '#/definitions/jsonSchema' };
const text: JsonObject = { type: 'string' };
const number: JsonObject = { type: 'number' };
const count: JsonObject = { type: 'integer', minimum: 0 };
const flag: JsonObject = { type: 'boolean' };
const list: JsonObject = { type: 'array' };
const texts: JsonObject = { type: 'array', items: text, uniqueItems: true };
const typeName: JsonObject = { enum: [...schemaTypes] };

const properties: JsonObject = {
  ...all(keywordsOfForm('schema'), schema),
  ...all(keywordsOfForm('map'), { type: 'object', additionalProperties: schema }),
  ...all(keywordsOfForm('list'), { type: 'array', minItems: 1, items: schema }),
  ...all(['$schema', '$id', '$ref', '$anchor', '$dynamicRef', '$dynamicAnchor', '$comment'], text),
  ...all(['pattern', 'title', 'description', 'format', 'contentEncoding', 'contentMediaType'], text),
  ...all(['maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'], number),
  multipleOf: { type: 'number', exclusiveMinimum: 0 },
  ...all(['maxLength', 'minLength', 'maxItems', 'minItems', 'maxContains', 'minContains'], count),
  ...all(['maxProperties', 'minProperties'], count),
  ...all(['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'], flag),
  ...all(['enum', 'examples'], list),
  required: texts,
  dependentRequired: { type: 'object', additionalProperties: texts },
  type: { anyOf: [typeName, { type: 'array', items: typeName, minItems: 1, uniqueItems: true }] },
  // Of draft 7: a value is a list of names, or a schema.
  dependencies: true,
};

/**
 * The types of the keywords of JSON Schema 2020-12, in the words of draft 7, for the schemas in a workflow file.
 *
 * Source: the meta-schemas of the vocabularies of draft 2020-12, flattened. Keywords that are not named here may be anything.
 */
export const schemaKeywordTypes: JsonObject = { properties };

/** Every keyword of JSON Schema 2020-12, those of earlier drafts that are still read, and uwf's `cas_type`. */
export const schemaKeywords: ReadonlySet<string> = new Set([
  ...Object.keys(properties),
  '$vocabulary',
  'const',
  'default',
  'cas_type',
]);

function all(keywords: Iterable<string>, schema: JsonObject): JsonObject {
  return Object.fromEntries([...keywords].map((keyword) => [keyword, schema]));
}
