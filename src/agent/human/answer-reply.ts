import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../json.ts';
import { splitFrontMatter } from '../extract/front-matter.ts';
import { renderFields } from '../extract/extract-reply.ts';
import {
  fieldWords,
  plainOrJson,
  propertiesOf,
  requiredOf,
  resolveReference,
  schemaVariants,
} from '../extract/schema-variants.ts';

/** What a person's words come to: a reply, or the part of one that they have said so far. */
export type ReadAnswer = { text: string; meta?: JsonObject; isWhole: boolean };

/**
 * Makes a reply of what a person answered.
 *
 * - An answer with front matter is the reply.
 * - Where the role's schema needs nothing but constants (or nothing at all), any answer is the reply's text.
 * - Where one of several words is to be said, mostly a `$status`, the answer's first line may be that word; the rest is the
 *   text: `approved`, or `rejected` and the reasons below it, or behind a colon.
 *
 * Anything else goes on as it is, to be refused in words: a field that is missing is never made up.
 * @param isAskedNow whether the person has the words before them, and may shorten them
 */
export function readTypedAnswer(answer: string, schema: JsonObject, isAskedNow = false): ReadAnswer {
  if (splitFrontMatter(answer).kind === 'found') return { text: answer, isWhole: true };
  const field = openField(schema, {});
  if (field === undefined) return { text: answer, meta: withConstants(schema, {}), isWhole: true };
  const { name, choices = new Map<string, never>() } = field;
  const [, firstLine = '', below = ''] = /^\s*(.*?)[ \t]*(?:\r?\n(?:[ \t]*\r?\n)*([^]*))?$/u.exec(answer) ?? [];
  const [, beforeColon = '', behindColon = ''] = /^(.*?)\s*:\s+(.*)$/u.exec(firstLine) ?? [];
  for (const [typed, text] of [
    [firstLine, below],
    [beforeColon, below === '' ? behindColon : `${behindColon}\n${below}`],
  ] as const) {
    const word = readChoice(typed, [...choices.keys()], isAskedNow);
    const value = word === undefined ? undefined : choices.get(word);
    if (value === undefined) continue;
    const meta = { [name]: value };
    const isWhole = openField(schema, meta) === undefined;
    return { text, meta: isWhole ? withConstants(schema, meta) : meta, isWhole };
  }
  return { text: answer, isWhole: false };
}

/**
 * Writes a person's reply as an answer that {@link readTypedAnswer} reads as that reply: the word alone where one was asked for, and
 * the text below it; else with its fields as front matter.
 */
export function writeAnswer(
  { text, meta }: { text: string; meta?: JsonObject | undefined },
  schema: JsonObject,
): string {
  if (meta === undefined) return text;
  const field = openField(schema, {});
  const words = [...(field?.choices ?? [])].flatMap(([word, value]) =>
    value === meta[field?.name ?? ''] ? [word] : [],
  );
  const short = [...(field === undefined ? [''] : words)].map((word) => [word, text].filter(Boolean).join('\n\n'));
  const isRead = (answer: string): boolean =>
    isDeepStrictEqual(readTypedAnswer(answer, schema), { text, meta, isWhole: true });
  return short.find(isRead) ?? `---\n${renderFields(meta)}---\n${text === '' ? '' : `\n${text}`}`;
}

/**
 * Finds the word that a person means: as it is written, else without regard to capitals; and, where they are asked just now,
 * by its number in the list or by its beginning, as long as no other one begins so.
 */
export function readChoice(typed: string, words: readonly string[], isAskedNow: boolean): string | undefined {
  const wanted = typed.trim();
  if (wanted === '') return undefined;
  const beginsSo = words.filter((word) => word.toLowerCase().startsWith(wanted.toLowerCase()));
  const alike = beginsSo.filter((word) => word.length === wanted.length);
  if (words.includes(wanted)) return wanted;
  if (alike.length > 0 || !isAskedNow) return onlyOne(alike);
  return (/^\d+$/u.test(wanted) && words[Number(wanted) - 1]) || onlyOne(beginsSo);
}

function onlyOne(words: readonly string[]): string | undefined {
  return words.length === 1 ? words[0] : undefined;
}

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

/** The front matter to fill in: constants are set, required fields are empty, optional ones commented out. */
export function replyTemplate(schema: JsonObject): string {
  const variants = schemaVariants(schema);
  const [only] = variants;
  const constants = new Map(only !== undefined && variants.length === 1 ? propertiesOf(only) : []);
  const lines = fieldWords(variants).map(({ name, isRequired, need, words }) => {
    const constant = constants.get(name)?.['const'];
    if (isRequired && constant !== undefined) return renderFields({ [name]: constant });
    const comment = `# ${need}: ${words.replaceAll(/\s+/gu, ' ')}`;
    return `${isRequired ? '' : '# '}${name}: ${comment}\n`;
  });
  return `---\n${lines.join('')}---\n\n`;
}
