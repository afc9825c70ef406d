import type { JsonObject, JsonValue } from '../../json.ts';
import { fieldWords, plainOrJson } from '../extract/field-words.ts';
import { propertiesOf, requiredOf, resolveReference, schemaVariants } from '../extract/schema-variants.ts';

/** A field of a reply that a person has to fill in. */
export type OpenField = {
  name: string;
  /** What a value has to be. */
  schema: JsonObject;
  /** The same in words: `integer from 1: how many words`. */
  words: string;
  /** What may be said, word by word; `undefined` where that is not a matter of a few words. */
  choices: ReadonlyMap<string, JsonValue> | undefined;
};

/** More words than this are no choice for a person. */
const MAX_CHOICES = 100;
const NO_FIELDS: JsonObject = {};
const YES_OR_NO: OpenField['choices'] = new Map([
  ['yes', true],
  ['no', false],
  ['true', true],
  ['false', false],
]);

/**
 * Finds what has to be said next for a reply that has some fields already: first which `$status` it has, then what a reply
 * with that status requires.
 *
 * @returns `undefined` when nothing is open
 */
export function openField(schema: JsonObject, meta: JsonObject): OpenField | undefined {
  const variants = variantsFor(schema, meta);
  const statuses = new Map(
    variants.flatMap((variant) => {
      const status = constantsOf(variant)['$status'];
      return status === undefined ? [] : [[plainOrJson(status), status]];
    }),
  );
  if (!Object.hasOwn(meta, '$status') && statuses.size > 1) {
    return { name: '$status', schema: NO_FIELDS, words: '', choices: statuses };
  }
  const [variant = NO_FIELDS] = variants;
  const constants = constantsOf(variant);
  const name = requiredOf(variant).find((field) => !Object.hasOwn(meta, field) && !Object.hasOwn(constants, field));
  return name === undefined ? undefined : fieldOf(schema, variant, name);
}

/** Whether a reply may need more than a text and one word. */
export function needsForm(schema: JsonObject): boolean {
  const field = openField(schema, {});
  if (field === undefined) return false;
  const values = [...(field.choices?.values() ?? [])];
  return values.length === 0 || values.some((value) => openField(schema, { [field.name]: value }) !== undefined);
}

/** A field by its name, whether it is required or not; `undefined` where a reply with these fields has none of that name. */
export function fieldNamed(schema: JsonObject, meta: JsonObject, name: string): OpenField | undefined {
  const [variant = NO_FIELDS] = variantsFor(schema, meta);
  return propertiesOf(variant).some(([property]) => property === name) ? fieldOf(schema, variant, name) : undefined;
}

/** Adds the fields that can have one value only. */
export function withConstants(schema: JsonObject, meta: JsonObject): JsonObject {
  const [variant = NO_FIELDS] = variantsFor(schema, meta);
  const constants = constantsOf(variant);
  const required = new Set(requiredOf(variant));
  return { ...Object.fromEntries(Object.entries(constants).filter(([name]) => required.has(name))), ...meta };
}

/** The words of a question as they follow it: `[granted/refused]`; of words for the same only the first. */
export function wordsToShow({ choices }: OpenField): string[] {
  const values = [...(choices?.values() ?? [])];
  return [...(choices?.keys() ?? [])].filter((_, at) => values.indexOf(values[at] ?? null) === at);
}

/** The shapes of a reply that these fields leave possible. */
function variantsFor(schema: JsonObject, meta: JsonObject): JsonObject[] {
  return schemaVariants(schema, schema, MAX_CHOICES).filter((variant) =>
    Object.entries(constantsOf(variant)).every(([name, value]) => !Object.hasOwn(meta, name) || meta[name] === value),
  );
}

function constantsOf(variant: JsonObject): JsonObject {
  return Object.fromEntries(
    propertiesOf(variant).flatMap(([name, { const: constant }]) => (constant === undefined ? [] : [[name, constant]])),
  );
}

function fieldOf(schema: JsonObject, variant: JsonObject, name: string): OpenField {
  const property = new Map(propertiesOf(variant)).get(name) ?? {};
  const { $ref } = property;
  const resolved = { ...(typeof $ref === 'string' && resolveReference(schema, $ref)), ...property };
  const [described] = fieldWords([{ properties: { [name]: resolved } }]);
  const { $defs, definitions } = schema;
  return {
    name,
    // Its references start from the whole schema.
    schema: { ...resolved, ...($defs && { $defs }), ...(definitions && { definitions }) },
    words: described?.words ?? '',
    choices: choicesOf(resolved),
  };
}

function choicesOf({ enum: values, type }: JsonObject): OpenField['choices'] {
  if (Array.isArray(values)) {
    return values.length > MAX_CHOICES ? undefined : new Map(values.map((value) => [plainOrJson(value), value]));
  }
  return type === 'boolean' ? YES_OR_NO : undefined;
}
