import { isDeepStrictEqual } from 'node:util';
import {
  fieldWords,
  plainOrJson,
  propertiesOf,
  requiredOf,
  schemaVariants,
} from '../../agent/extract/schema-variants.ts';
import { isJsonObject, setMember, type JsonObject, type JsonValue } from '../../json.ts';

/** A part of a form that is filled in. */
export type FormField = {
  /** The name of the member that it is; '' for an item of a list. */
  name: string;
  label: string;
  /** What a value looks like and means: `integer from 1: how many words`. */
  words: string;
  isRequired: boolean;
  /** Whether it is null, and not left out, where nothing is filled in. */
  isNull: boolean;
} & (
  | { kind: 'text'; isShort: boolean }
  | { kind: 'number' }
  /** One of some values; a value can bring fields of its own. */
  | { kind: 'choice'; choices: readonly FormChoice[] }
  /** Some of some values. */
  | { kind: 'several'; choices: readonly FormChoice[] }
  | { kind: 'list'; item: FormField; least: number; most: number }
  | { kind: 'object'; shape: FormShape }
  /** Whatever has no form: a value is written as YAML. */
  | { kind: 'yaml' }
);

export type FormChoice = { word: string; value: JsonValue; shape: FormShape };

/** The parts of an object: fields, and members that can have one value only, which the form does not show. */
export type FormShape = { constants: JsonObject; fields: readonly FormField[] };

/** More alternatives than this are no form. */
const MAX_VARIANTS = 32;
const MAX_DEPTH = 6;
const MAX_ROWS = 100;
const SHORT_TEXT = 120;
const NOTHING: FormShape = { constants: {}, fields: [] };

/**
 * Makes the form of a role's reply from its schema. The form may allow more than the schema: what is filled in is held
 * against the schema itself.
 * @returns `undefined` where a form cannot show its alternatives
 */
export function formOf(schema: JsonObject): FormShape | undefined {
  return shapeOf(schema, schema, 0);
}

/** The shape of an object; of several alternatives those that a member with a constant tells apart. */
function shapeOf(schema: JsonObject, root: JsonObject, depth: number): FormShape | undefined {
  const variants = schemaVariants(schema, root, MAX_VARIANTS);
  const [only, second] = variants;
  if (only === undefined || depth > MAX_DEPTH) return undefined;
  if (second === undefined) return shapeOfOne(only, root, depth);
  const name = tellingApart(variants);
  if (name === undefined) return undefined;
  const shapes = variants.map((variant) => shapeOfOne(variant, root, depth));
  const [first = NOTHING] = shapes;
  const isCommon = (field: FormField): boolean =>
    shapes.every(({ fields }) => fields.some((other) => isDeepStrictEqual(other, field)));
  const choices = variants.map((variant, at): FormChoice => {
    const { constants, fields } = shapes[at] ?? NOTHING;
    const value = constantOf(variant, name) ?? null;
    const { [name]: _chosen, ...others } = constants;
    return {
      word: plainOrJson(value),
      value,
      shape: { constants: others, fields: fields.filter((field) => !isCommon(field)) },
    };
  });
  const isRequired = variants.every((variant) => requiredOf(variant).includes(name));
  const choice: FormField = { name, label: name, words: '', isRequired, isNull: false, kind: 'choice', choices };
  return { constants: {}, fields: [choice, ...first.fields.filter(isCommon)] };
}

/** The member that has another constant in each variant. */
function tellingApart(variants: readonly JsonObject[]): string | undefined {
  const [first = {}] = variants;
  return propertiesOf(first)
    .map(([name]) => name)
    .find((name) => {
      const values = variants.map((variant) => constantOf(variant, name));
      return (
        !values.includes(undefined) && new Set(values.map((value) => JSON.stringify(value))).size === values.length
      );
    });
}

function constantOf(variant: JsonObject, name: string): JsonValue | undefined {
  return propertiesOf(variant).find(([property]) => property === name)?.[1]['const'];
}

function shapeOfOne(variant: JsonObject, root: JsonObject, depth: number): FormShape {
  const properties = propertiesOf(variant);
  const required = requiredOf(variant);
  const unnamed = required.filter((name) => !properties.some(([property]) => property === name));
  const constants: JsonObject = {};
  const fields: FormField[] = [];
  for (const [name, property] of [...properties, ...unnamed.map((each): [string, JsonObject] => [each, {}])]) {
    const isRequired = required.includes(name);
    const value = property['const'];
    if (value === undefined) fields.push(fieldOf({ name, isRequired }, property, root, depth));
    else if (isRequired) setMember(constants, name, value);
  }
  // Stored schemas have their members by name: what is needed is asked first.
  return { constants, fields: fields.toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired)) };
}

type Place = Pick<FormField, 'name' | 'isRequired'>;

function fieldOf(place: Place, schema: JsonObject, root: JsonObject, depth: number): FormField {
  const variants = schemaVariants(schema, root, MAX_VARIANTS);
  const [flat = schema] = variants;
  const [described] = fieldWords([
    { properties: { value: { ...flat, ...(variants.length > 1 && { type: 'object' }) } } },
  ]);
  const types = [flat['type'] ?? []].flat();
  const base: Base = {
    ...place,
    label: typeof flat['title'] === 'string' ? flat['title'] : place.name,
    words: described?.words ?? '',
    isNull: place.isRequired && types.includes('null'),
  };
  if (variants.length > 1) return objectField(base, schema, root, depth);
  const values = flat['enum'];
  if (Array.isArray(values)) return { ...base, words: meaningOf(flat), kind: 'choice', choices: values.map(choiceOf) };
  const [type, another] = types.filter((each) => each !== 'null');
  if (another !== undefined) return { ...base, kind: 'yaml' };
  if (type === 'boolean') {
    return {
      ...base,
      words: meaningOf(flat),
      kind: 'choice',
      choices: [
        { word: 'yes', value: true, shape: NOTHING },
        { word: 'no', value: false, shape: NOTHING },
      ],
    };
  }
  if (type === 'integer' || type === 'number') return { ...base, kind: 'number' };
  if (type === 'array') return listField(base, flat, root, depth);
  if (type === 'object' || propertiesOf(flat).length > 0) return objectField(base, flat, root, depth);
  if (type !== undefined && type !== 'string') return { ...base, kind: 'yaml' };
  const { format, pattern, maxLength } = flat;
  const isShort = Boolean(format ?? pattern) || (typeof maxLength === 'number' && maxLength <= SHORT_TEXT);
  const words = typeof format === 'string' ? base.words : meaningOf(flat);
  return { ...base, words, kind: 'text', isShort };
}

type Base = Pick<FormField, 'name' | 'label' | 'isRequired' | 'words' | 'isNull'>;

function objectField(base: Base, schema: JsonObject, root: JsonObject, depth: number): FormField {
  const shape = shapeOf(schema, root, depth + 1);
  const isForm = shape !== undefined && shape.fields.length > 0;
  return isForm ? { ...base, words: meaningOf(schema), kind: 'object', shape } : { ...base, kind: 'yaml' };
}

function listField(base: Base, schema: JsonObject, root: JsonObject, depth: number): FormField {
  const { items, minItems, maxItems, uniqueItems, prefixItems } = schema;
  if (!isJsonObject(items) || prefixItems !== undefined || depth >= MAX_DEPTH) return { ...base, kind: 'yaml' };
  const item = fieldOf({ name: '', isRequired: false }, items, root, depth + 1);
  const words = meaningOf(schema);
  if (item.kind === 'choice' && uniqueItems === true) return { ...base, words, kind: 'several', choices: item.choices };
  const most = Math.min(typeof maxItems === 'number' ? maxItems : MAX_ROWS, MAX_ROWS);
  return { ...base, words, kind: 'list', item, least: typeof minItems === 'number' ? minItems : 0, most };
}

function choiceOf(value: JsonValue): FormChoice {
  return { word: plainOrJson(value), value, shape: NOTHING };
}

function meaningOf({ description }: JsonObject): string {
  return typeof description === 'string' ? description : '';
}
