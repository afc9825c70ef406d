import { isJsonObject, type JsonObject, type JsonValue, mapValues } from '../../json.ts';
import { keywordsOfForm, withoutWords, wordsOf } from '../../schema/typed-schema.ts';
import { notationSchema } from './file-schema.ts';

/**
 * The schema of workflow files for editors, in JSON Schema draft 7, which most of them support: the one of the reader, and what editors
 * see otherwise. An `!include` is a text to them, and the draft of the schemas in a file is not known to them.
 */
export function workflowFileSchema(): JsonObject {
  const { definitions, ...whole } = notationSchema;
  const forEditors = mapValues(whole, (part) => forEditor(part));
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'a workflow of uwf',
    ...withoutWords(forEditors),
    anyOf: [
      {
        required: ['roles'],
        properties: { roles: { description: 'at least one role', not: { type: 'null' }, minProperties: 1 } },
      },
      { required: ['blocks'], properties: { blocks: { description: 'blocks without roles', not: { type: 'null' } } } },
    ],
    definitions: {
      ...(isJsonObject(definitions) && mapValues(definitions, (part) => withoutWords(forEditor(part)))),
      keywords: { properties: keywords },
      jsonSchema: { ...orFile({ type: ['object', 'boolean'] }), ...isOfDraft },
    },
  };
}

/** Refers to the keywords of JSON Schema. */
const isOfDraft: JsonObject = { allOf: [{ $ref: '#/definitions/keywords' }] };

function forEditor(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map((item) => forEditor(item));
  if (!isJsonObject(schema)) return schema;
  const known = Object.entries(schema).filter(([, part]) => !(isJsonObject(part) && part['readOnly'] === true));
  const parts = Object.fromEntries(
    known.map(([keyword, part]) => [keyword, keyword === 'oneOf' ? part : forEditor(part)]),
  );
  const { faults, isSchema = false } = wordsOf(schema);
  const why = faults?.['pattern']?.hint ?? faults?.['pattern']?.says.replace('{name}', 'it');
  return {
    ...orFile(parts),
    ...(why !== undefined && { patternErrorMessage: why }),
    ...(isSchema && isOfDraft),
  };
}

/** A value in whose place an `!include` may stand: to an editor that is a text, the file's name. */
function orFile(schema: JsonObject): JsonObject {
  const types: JsonValue[] = [schema['type'] ?? []].flat();
  if (types.includes('string') || !(types.includes('object') || types.includes('array'))) return schema;
  const patternErrorMessage = 'a text stands here only as the file of an !include: reply.yaml';
  return { ...schema, type: [...types, 'string'], pattern: String.raw`\.(?:ya?ml|json)$`, patternErrorMessage };
}

/** What `type` may say. */
export const schemaTypes: readonly string[] = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

const schema: JsonObject = { $ref: '#/definitions/jsonSchema' };
const keywordText: JsonObject = { type: 'string' };
const number: JsonObject = { type: 'number' };
const count: JsonObject = { type: 'integer', minimum: 0 };
const flag: JsonObject = { type: 'boolean' };
const list: JsonObject = { type: 'array' };
const texts: JsonObject = { type: 'array', items: keywordText, uniqueItems: true };
const typeName: JsonObject = { enum: [...schemaTypes] };

/**
 * The types of the keywords of JSON Schema 2020-12, in the words of draft 7, for the schemas in a workflow file.
 * Source: the meta-schemas of the vocabularies of draft 2020-12, flattened. Keywords that are not named here may be anything.
 */
const keywords: JsonObject = {
  ...all(keywordsOfForm('schema'), schema),
  ...all(keywordsOfForm('map'), { type: 'object', additionalProperties: schema }),
  ...all(keywordsOfForm('list'), { type: 'array', minItems: 1, items: schema }),
  ...all(['$schema', '$id', '$ref', '$anchor', '$dynamicRef', '$dynamicAnchor', '$comment'], keywordText),
  ...all(['pattern', 'title', 'description', 'format', 'contentEncoding', 'contentMediaType'], keywordText),
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

/** Every keyword of JSON Schema 2020-12, those of earlier drafts that are still read, and uwf's `cas_type`. */
export const schemaKeywords: ReadonlySet<string> = new Set([
  ...Object.keys(keywords),
  '$vocabulary',
  'const',
  'default',
  'cas_type',
]);

function all(keywords: Iterable<string>, schema: JsonObject): JsonObject {
  return Object.fromEntries([...keywords].map((keyword) => [keyword, schema]));
}
