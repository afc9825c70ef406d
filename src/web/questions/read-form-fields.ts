import { isDeepStrictEqual } from 'node:util';
import { parseFields } from '../../agent/extract/extract-reply.ts';
import {
  fieldWords,
  plainOrJson,
  propertiesOf,
  requiredOf,
  schemaVariants,
} from '../../agent/extract/schema-variants.ts';
import { isJsonObject, type JsonObject, type JsonValue, setMember } from '../../json.ts';
import type { SchemaError } from '../../schema/schema-error.ts';

/** What was filled in: the value, what was typed (empty rows of lists left out), and what cannot be read. */
export type FilledIn = { value: JsonObject; typed: URLSearchParams; errors: SchemaError[] };

/** The name of a field of a form: those of the objects around it, as a path. It holds no white space. */
export function memberOf(place: string, member: string | number): string {
  return `${place}/${encodeURIComponent(member)}`;
}

/** The place of the fields that one value of a choice brings: those of another value may have the same names. */
export function variantOf(place: string, word: string): string {
  return `${place}?${encodeURIComponent(word)}`;
}

/** The JSON pointer (RFC 6901) of the value that a field stands for. */
export function pointerOf(place: string): string {
  const members = place.split('/').slice(1);
  return members.map((member) => `/${escaped(decodeURIComponent(member.replace(/\?.*/u, '')))}`).join('');
}

export function memberPointer(pointer: string, member: string): string {
  return `${pointer}/${escaped(member)}`;
}

function escaped(member: string): string {
  return member.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The name under which a form says how many rows a list shows. */
export function rowsOf(place: string): string {
  return `rows${place}`;
}

/** The name of the field by which a form asks for one more row of a list. Its value is the place of the list. */
export const ONE_MORE = 'row';

/** A list of a form has so many rows at most, whatever a request says … */
const MAX_ROWS_READ = 1_000;
/** … and so many have all lists together: a list in a list may say its own number in each row. */
const MAX_ALL_ROWS = 10_000;

/**
 * Reads a form that was made of a shape. Nothing is made up: a field that was left empty is left out, and a number that is
 * none stays the text that it is, so that the schema refuses it.
 */
export async function readFormFields(shape: FormShape, form: URLSearchParams): Promise<FilledIn> {
  const reader = new FormReader(form);
  const value = await reader.object(shape, '', '');
  return { value, typed: reader.typed, errors: reader.errors };
}

class FormReader {
  readonly typed = new URLSearchParams();
  readonly errors: SchemaError[] = [];
  readonly #form: URLSearchParams;
  #filled = 0;
  #rowsLeft = MAX_ALL_ROWS;

  constructor(form: URLSearchParams) {
    this.#form = form;
  }

  /**
   * @param source the place of the object in the form
   * @param target its place in what was filled in, where lists have no empty rows
   */
  async object(shape: FormShape, source: string, target: string): Promise<JsonObject> {
    const object: JsonObject = {};
    await this.#members(object, shape, source, target);
    return object;
  }

  async #members(object: JsonObject, { constants, fields }: FormShape, source: string, target: string): Promise<void> {
    for (const [name, value] of Object.entries(constants)) setMember(object, name, value);
    for (const field of fields) {
      const from = memberOf(source, field.name);
      const value = await this.#value(field, from, memberOf(target, field.name));
      if (value !== undefined) setMember(object, field.name, value);
      const chosen = field.kind === 'choice' ? this.#chosen(field.choices, from)[0] : undefined;
      if (chosen === undefined) continue;
      const { shape, word } = chosen;
      await this.#members(object, shape, variantOf(source, word), variantOf(target, word));
    }
  }

  async #value(field: FormField, source: string, target: string): Promise<JsonValue | undefined> {
    const nothing = field.isNull ? null : undefined;
    switch (field.kind) {
      case 'object': {
        const before = this.#filled;
        const value = await this.object(field.shape, source, target);
        // An object that may be missing is missing when nothing of it was filled in.
        return field.isRequired || this.#filled > before ? value : undefined;
      }
      case 'list':
        return (await this.#items(field.item, source, target)) ?? (field.isRequired ? [] : nothing);
      case 'choice': {
        const [chosen] = this.#chosen(field.choices, source);
        if (chosen !== undefined) this.#keep(target, chosen.word);
        return chosen === undefined ? nothing : chosen.value;
      }
      case 'several': {
        const chosen = this.#chosen(field.choices, source);
        for (const { word } of chosen) this.#keep(target, word);
        return chosen.length > 0 ? chosen.map(({ value }) => value) : field.isRequired ? [] : nothing;
      }
      case 'text':
      case 'number':
      case 'yaml': {
        const text = (this.#form.get(source) ?? '').replaceAll('\r\n', '\n');
        if (text.trim() === '') return nothing;
        this.#keep(target, text);
        return field.kind === 'text' ? text : field.kind === 'number' ? numberIn(text) : this.#yaml(text, target);
      }
    }
  }

  #chosen(choices: readonly FormChoice[], source: string): FormChoice[] {
    const words = this.#form.getAll(source);
    return choices.filter(({ word }) => words.includes(word));
  }

  /** The rows of a list that were filled in; `undefined` where none was. */
  async #items(item: FormField, source: string, target: string): Promise<JsonValue[] | undefined> {
    const items: JsonValue[] = [];
    const rows = Math.min(Number(this.#form.get(rowsOf(source))) || 0, MAX_ROWS_READ, this.#rowsLeft);
    this.#rowsLeft -= Math.max(rows, 0);
    for (let row = 0; row < rows; row += 1) {
      const value = await this.#value(item, memberOf(source, row), memberOf(target, items.length));
      if (value !== undefined) items.push(value);
    }
    const isOneMore = this.#form.get(ONE_MORE) === source;
    if (rows > 0) this.typed.set(rowsOf(target), String(rows + (isOneMore ? 1 : 0)));
    return items.length > 0 ? items : undefined;
  }

  #keep(target: string, text: string): void {
    this.typed.append(target, text);
    this.#filled += 1;
  }

  async #yaml(text: string, target: string): Promise<JsonValue | undefined> {
    const parsed = await parseFields(`value:\n${text.replaceAll(/^/gmu, '  ')}`, 0);
    if (parsed.kind === 'ok') return parsed.fields['value'];
    this.errors.push(...parsed.errors.map((message) => ({ path: pointerOf(target), message })));
    return undefined;
  }
}

/** A number as people write it; anything else stays a text. */
function numberIn(text: string): number | string {
  const plain = text.trim();
  const number = Number(plain);
  return /^[-+]?[\d.]/u.test(plain) && Number.isFinite(number) ? number : text;
}

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
