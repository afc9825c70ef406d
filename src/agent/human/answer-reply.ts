import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../json.ts';
import { splitFrontMatter } from '../extract/front-matter.ts';
import { renderFields } from '../extract/render-fields.ts';
import { openField, withConstants } from './open-field.ts';

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
