import type { JsonObject, JsonValue } from '../../json.ts';
import { checkValue } from '../extract/check-value.ts';
import type { AgentRequest } from '../contract.ts';
import { parseFields } from '../extract/parse-fields.ts';
import { readTypedAnswer } from './answer-reply.ts';
import { fieldNamed, openField, withConstants, wordsToShow, type OpenField } from './open-field.ts';
import { readChoice } from './answer-reply.ts';

/** Choices that are longer stand below each other, with numbers. */
const MAX_CHOICES_IN_LINE = 60;
const LATER = 'Enter alone leaves it for later';

/** What a person said: a text, and fields that the role's schema asks for. */
type Said = { text: string; meta: JsonObject };

/** What a person is told before they answer. */
export type Told = NonNullable<AgentRequest['forPerson']>;
/** Asks for one line; '' where nothing is said. */
type AskLine = (question: string) => Promise<string>;

/**
 * Asks a person for the fields of a reply, one after the other; each answer is checked before the next question.
 *
 * @param told what they are to know first, and the question
 * @param said what they have said already, which is read as the first answer
 * @returns `undefined` when they leave a question for later
 */
export async function askInTurn(
  askLine: AskLine,
  schema: JsonObject,
  told: Told,
  said: string | undefined,
): Promise<Said | undefined> {
  const first = openField(schema, {});
  if (first === undefined) return undefined;
  let answer: Said | undefined;
  if (isAnsweredByWord(first, schema)) {
    answer = await askChoice(askLine, schema, first, told, said);
  } else {
    const value = await askField(askLine, first, `${told.briefing}\n(${LATER})\n${told.question}\n`);
    answer = value === undefined ? undefined : { text: '', meta: { [first.name]: value } };
  }
  while (answer !== undefined) {
    const { text, meta } = answer;
    const field = await missingField(schema, meta);
    if (field === undefined) return { text, meta: withConstants(schema, meta) };
    const value = await askField(askLine, field, '');
    answer = value === undefined ? undefined : { text, meta: { ...meta, [field.name]: value } };
  }
  return undefined;
}

/** The question with its choices, for one who is asked later: `May it go out? [granted/refused]`. */
export function withChoices(question: string, schema: JsonObject): string {
  const field = openField(schema, {});
  if (field === undefined || !isAnsweredByWord(field, schema)) return question;
  return `${question} [${wordsToShow(field).join('/')}]`;
}

/** Whether the question itself is answered by a word, and what that is about need not be said. */
function isAnsweredByWord({ name, choices }: OpenField, schema: JsonObject): boolean {
  const [value] = choices?.values() ?? [];
  return value !== undefined && (name === '$status' || openField(schema, { [name]: value }) === undefined);
}

async function askChoice(
  askLine: AskLine,
  schema: JsonObject,
  field: OpenField,
  { briefing, question }: Told,
  said: string | undefined,
): Promise<Said | undefined> {
  const words = wordsToShow(field);
  const inLine = `[${words.join('/')}] `;
  const list = words.map((word, at) => `  ${at + 1}  ${word}\n`).join('');
  const isShort = inLine.length <= MAX_CHOICES_IN_LINE;
  const choices = isShort ? inLine : `${list}a word or its number: `;
  const ask = `${question}${isShort && !question.includes('\n') ? ' ' : '\n'}${choices}`;
  let typed = said;
  for (let isFirst = true; ; isFirst = false) {
    const read = typed === undefined ? undefined : readTypedAnswer(typed, schema, true);
    if (read?.meta !== undefined) return { text: read.text, meta: read.meta };
    const refusal = typed === undefined ? '' : `'${typed.trim().split('\n')[0] ?? ''}' is not one of the answers\n`;
    const again = question.includes('\n') ? choices : ask;
    const how = `(a word answers, with more behind a colon; ${LATER})`;
    typed = await askLine(isFirst ? `${briefing}\n${refusal}${how}\n${ask}` : `${refusal}${again}`);
    if (typed.trim() === '') return undefined;
  }
}

/** Asks for the value of a field until it is one. */
async function askField(askLine: AskLine, field: OpenField, intro: string): Promise<JsonValue | undefined> {
  const label = `${field.name} (${field.words}): `;
  for (let before = intro; ;) {
    const typed = (await askLine(`${before}${label}`)).trim();
    if (typed === '') return undefined;
    const value = await readValue(typed, field);
    const errors = await checkValue(field.schema, value, field.name);
    if (errors.length === 0) return value;
    before = `${errors.join('\n')}\n`;
  }
}

/** What is open still: what is required, and what a condition of the schema requires of a reply with these fields. */
async function missingField(schema: JsonObject, meta: JsonObject): Promise<OpenField | undefined> {
  const open = openField(schema, meta);
  if (open !== undefined) return open;
  for (const error of await checkValue(schema, withConstants(schema, meta), 'meta')) {
    const [, name] = /^meta lacks the property '(.*)'$/u.exec(error) ?? [];
    const field = name === undefined ? undefined : fieldNamed(schema, meta, name);
    if (field !== undefined) return field;
  }
  return undefined;
}

/** What a person's line stands for: one of the choices, the text itself, or what YAML takes it for. */
async function readValue(typed: string, { choices, schema: { type } }: OpenField): Promise<JsonValue> {
  const word = choices && readChoice(typed, [...choices.keys()], true);
  const chosen = word === undefined ? undefined : choices?.get(word);
  if (chosen !== undefined) return chosen;
  if (type === undefined || type === 'string' || (Array.isArray(type) && type.includes('string'))) return typed;
  const yaml = type === 'array' && !typed.startsWith('[') ? `[${typed}]` : typed;
  const parsed = await parseFields(`value: ${yaml}`, 1);
  return (parsed.kind === 'ok' ? parsed.fields['value'] : undefined) ?? typed;
}
