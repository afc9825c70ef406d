import { extractReply } from '../../agent/extract/extract-reply.ts';
import { renderFields } from '../../agent/extract/parse-fields.ts';
import type { JsonObject } from '../../json.ts';
import type { MoreLimits } from '../../schema/built-in/schema-parts.ts';
import type { SchemaError } from '../../schema/json-schema/schema-error.ts';
import { validateAgainst } from '../../schema/json-schema/validate-against.ts';
import { memberPointer, ONE_MORE, readFormFields, type FilledIn } from '../forms/read-form-fields.ts';
import type { GivenToGoOn } from '../site.ts';
import type { WaitingQuestion } from './read-question.ts';

/** What was typed into the form of a question, and what is wrong with it. */
export type TypedAnswer = { typed: URLSearchParams; errors: readonly SchemaError[] };

/** What a form answers, or why it is shown once more. */
export type ReadAnswerForm = { kind: 'given'; given: GivenToGoOn } | ({ kind: 'again' } & TypedAnswer);

/** The place of the words that an answer has beside its fields. */
export const WORDS = 'answer';

/** Reads the form of a question. What the role's schema refuses is not given on. */
export async function readAnswerForm(question: WaitingQuestion, form: URLSearchParams): Promise<ReadAnswerForm> {
  const words = (form.get(WORDS) ?? '').replaceAll('\r\n', '\n').trim();
  switch (question.kind) {
    case 'reply': {
      const filled = await readFormFields(question.shape, form);
      const { typed } = filled;
      typed.set(WORDS, words);
      if (form.has(ONE_MORE)) return { kind: 'again', typed, errors: [] };
      const answer = `---\n${renderFields(filled.value)}---\n${words === '' ? '' : `\n${words}\n`}`;
      const errors = await checkFields(question.schema, filled);
      // What goes into the thread is read once more as it will be read there.
      const extracted = errors.length > 0 ? undefined : await extractReply(answer, question.schema);
      if (extracted?.kind === 'invalid') errors.push(...extracted.errors.map((message) => ({ path: '', message })));
      return errors.length > 0 ? { kind: 'again', typed, errors } : { kind: 'given', given: { answer } };
    }
    case 'text': {
      const refuse = (errors: SchemaError[]): ReadAnswerForm => ({
        kind: 'again',
        typed: new URLSearchParams({ [WORDS]: words }),
        errors,
      });
      if (words === '') return refuse([{ path: WORDS, message: 'is missing' }]);
      const extracted = question.schema && (await extractReply(`${words}\n`, question.schema));
      if (extracted?.kind === 'invalid') return refuse(extracted.errors.map((message) => ({ path: WORDS, message })));
      return { kind: 'given', given: { answer: `${words}\n` } };
    }
    case 'permission': {
      const answer = ['yes', 'no'].find((word) => word === form.get('permission'));
      return answer === undefined
        ? { kind: 'again', typed: new URLSearchParams(), errors: [{ path: '', message: 'choose yes or no' }] }
        : { kind: 'given', given: { answer } };
    }
    case 'limit': {
      const filled = await readFormFields(question.shape, form);
      const errors = await checkFields(question.schema, filled);
      if (errors.length > 0) return { kind: 'again', typed: filled.typed, errors };
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It was held against the schema of these limits.
      const more = filled.value as MoreLimits;
      return { kind: 'given', given: Object.keys(more).length === 0 ? {} : { more } };
    }
    case 'again':
      return { kind: 'given', given: {} };
  }
}

/** Holds what was filled in against a schema: what is wrong, each at the field that it is about. */
async function checkFields(schema: JsonObject, { value, errors }: FilledIn): Promise<SchemaError[]> {
  const unreadable = new Set(errors.map(({ path }) => path));
  const found = (await validateAgainst(schema, value)).map(atItsField);
  return [...errors, ...found.filter(({ path }) => !unreadable.has(path))];
}

/** What an object lacks is said at the field that was left empty. */
function atItsField(error: SchemaError): SchemaError {
  const [, name] = /^lacks the property '(.*?)'(?:, which .*)?$/u.exec(error.message) ?? [];
  return name === undefined ? error : { path: memberPointer(error.path, name), message: 'is missing' };
}
