/** What `type` may say. */
export const schemaTypes: readonly string[] = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
/** Keywords whose value is a schema. Source: JSON Schema 2020-12, core and validation vocabularies. */
export const schemaPlaces: ReadonlySet<string> = words(
  'not if then else items contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties contentSchema',
);
/** Keywords whose value is a map of schemas. */
export const schemaMaps: ReadonlySet<string> = words('properties patternProperties dependentSchemas $defs definitions');
/** Keywords whose value is a list of schemas. */
export const schemaLists: ReadonlySet<string> = words('allOf anyOf oneOf prefixItems');

/** Every keyword of JSON Schema 2020-12, those of earlier drafts that are still read, and uwf's `cas_type`. */
export const schemaKeywords: ReadonlySet<string> = new Set([
  ...schemaPlaces,
  ...schemaMaps,
  ...schemaLists,
  ...words('$schema $id $ref $anchor $dynamicRef $dynamicAnchor $vocabulary $comment'),
  ...words('type const enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern'),
  ...words(
    'maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required dependentRequired',
  ),
  ...words('title description default deprecated readOnly writeOnly examples format contentEncoding contentMediaType'),
  ...words('dependencies cas_type'),
]);

function words(text: string): Set<string> {
  return new Set(text.split(' '));
}
