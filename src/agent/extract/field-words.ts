import type { JsonObject, JsonValue } from '../../json.ts';
import { propertiesOf, requiredOf } from './schema-variants.ts';

/** One field of a reply's front matter, in words for the person or the model that fills it in. */
export type FieldWords = {
  name: string;
  /** `required`, `optional`, or when it is: `required with $status rejected`. */
  need: string;
  isRequired: boolean;
  /** What a value looks like, and what the schema says it means: `integer from 1: how many words`. */
  words: string;
};

/** Describes the fields of all variants of a schema, each once, in the order in which they are first named. */
export function fieldWords(variants: readonly JsonObject[]): FieldWords[] {
  const shapes = new Map<string, JsonObject[]>();
  for (const variant of variants) {
    for (const [name, schema] of propertiesOf(variant)) shapes.set(name, [...(shapes.get(name) ?? []), schema]);
    for (const name of requiredOf(variant)) if (!shapes.has(name)) shapes.set(name, [{}]);
  }
  return [...shapes].map(([name, schemas]) => {
    const needing = variants.filter((variant) => requiredOf(variant).includes(name));
    const isRequired = needing.length === variants.length;
    return { name, isRequired, need: isRequired ? 'required' : needOf(needing), words: wordsOf(schemas) };
  });
}

function needOf(needing: readonly JsonObject[]): string {
  if (needing.length === 0) return 'optional';
  const statuses = needing.flatMap((variant) => {
    const status = new Map(propertiesOf(variant)).get('$status')?.['const'];
    return typeof status === 'string' ? [status] : [];
  });
  return statuses.length < needing.length ? 'required in some cases' : `required with $status ${listed(statuses)}`;
}

function wordsOf(schemas: readonly JsonObject[]): string {
  const shapes = new Set(schemas.flatMap((schema) => shapesOf(schema)));
  const description = schemas.map((schema) => schema['description']).find((text) => typeof text === 'string');
  const shape = listed([...shapes]);
  return description === undefined ? shape : `${shape}: ${description}`;
}

function shapesOf(schema: JsonObject): string[] {
  const { const: constant, enum: choices, type, format } = schema;
  if (constant !== undefined) return [plainOrJson(constant)];
  if (Array.isArray(choices)) return choices.map(plainOrJson);
  if (format === 'cas_ref') return ['hash of a node (13 characters)'];
  if (typeof format === 'string') return [format];
  if (type === 'string' || type === undefined) return ['text'];
  if (type === 'array') return ['list'];
  if (type === 'boolean') return ['true or false'];
  const words = Array.isArray(type) ? type.map(plainOrJson).join(' or ') : plainOrJson(type);
  return [`${words}${boundsOf(schema)}`];
}

function boundsOf({ minimum, maximum }: JsonObject): string {
  const from = typeof minimum === 'number' ? ` from ${minimum}` : '';
  const to = typeof maximum === 'number' ? ` up to ${maximum}` : '';
  return from + to;
}

/** A text as it is, any other value as JSON. */
export function plainOrJson(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function listed(words: readonly string[]): string {
  return words.length < 3 ? words.join(' or ') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
