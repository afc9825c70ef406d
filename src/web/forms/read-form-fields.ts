import { parseFields } from '../../agent/extract/parse-fields.ts';
import { setMember, type JsonObject, type JsonValue } from '../../json.ts';
import type { SchemaError } from '../../schema/json-schema/schema-error.ts';
import type { FormChoice, FormField, FormShape } from './form-fields.ts';

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

/** The pointer of a member of what a pointer names. */
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
const MAX_ROWS = 1_000;
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
    const rows = Math.min(Number(this.#form.get(rowsOf(source))) || 0, MAX_ROWS, this.#rowsLeft);
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
