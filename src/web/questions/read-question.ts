import { extractReply, renderFields } from '../../agent/extract/extract-reply.ts';
import { replyTemplate } from '../../agent/human/answer-reply.ts';
import { definitionOf } from '../../engine/children/sub-workflow.ts';
import { describeThread, type ThreadView } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { findLimitWaitedAt } from '../../engine/limits/allowance.ts';
import { limitOptions, type LimitReached } from '../../engine/limits/limits.ts';
import type { JsonObject } from '../../json.ts';
import { limitBounds, type MoreLimits } from '../../schema/built-in/schema-parts.ts';
import type { SchemaError } from '../../schema/schema-error.ts';
import { validateAgainst } from '../../schema/validate-against.ts';
import type { SuspensionOutline } from '../../thread/exchange.ts';
import { asksForWords, readState } from '../../thread/thread-state.ts';
import { findRole } from '../../workflow/definition.ts';
import { listWorkflowFiles } from '../../workflow/load/resolve-workflow.ts';
import { listWorkflows } from '../../workflow/registry/find-workflow.ts';
import type { GivenToGoOn } from '../site.ts';
import { type FilledIn, formOf, type FormShape, memberPointer, ONE_MORE, readFormFields } from './read-form-fields.ts';

/** What a suspended thread waits for. */
export type WaitingQuestion = {
  /** The thread that is resumed. */
  view: ThreadView;
  /** The thread that asks: the same, or a child of it. */
  asking: ThreadView;
  suspension: SuspensionOutline;
} & Wanted;

type Wanted =
  /** A reply of a role, with what its schema asks for. */
  | { kind: 'reply'; schema: JsonObject; shape: FormShape }
  /** Words. With a schema: a reply that has no form, and so its front matter is written by hand. */
  | { kind: 'text'; schema?: JsonObject; template?: string }
  | { kind: 'permission' }
  /** How much more than its limits the thread may use. */
  | { kind: 'limit'; schema: JsonObject; shape: FormShape; reached: LimitReached | undefined }
  /** Nothing but that it goes on. */
  | { kind: 'again' };

const limitSchema: JsonObject = {
  type: 'object',
  properties: Object.fromEntries(limitOptions.map(([name]) => [name, limitBounds[name]])),
  additionalProperties: false,
};

const moreOf: Readonly<Record<string, string>> = {
  maxSteps: 'more steps of the thread',
  maxVisits: 'more steps of each role',
  maxTurns: 'more turns of models',
  maxTokens: 'more tokens, in and out',
  maxCostUsd: 'more US dollars',
};

/** What a person allows when they raise a limit: `more tokens, in and out`. */
export function nameOfLimit(name: string): string {
  return moreOf[name] ?? name;
}

const limitShape: FormShape = {
  constants: {},
  fields: limitOptions.map(([name]) => ({
    kind: 'number',
    name,
    label: nameOfLimit(name),
    words: '',
    isRequired: false,
    isNull: false,
  })),
};

/** Reads what a suspended thread waits for, or the child of it that asks; `undefined` for a thread that is not suspended. */
export async function readQuestion(engine: EngineContext, view: ThreadView): Promise<WaitingQuestion | undefined> {
  const asking = view.waitsFor === null ? view : await describeThread(engine, view.waitsFor);
  const { suspension } = asking;
  if (view.suspension === null || suspension === null) return undefined;
  return { view, asking, suspension, ...(await wantedBy(engine, asking, suspension)) };
}

async function wantedBy(
  engine: EngineContext,
  { thread, head }: ThreadView,
  suspension: SuspensionOutline,
): Promise<Wanted> {
  const { cause, role } = suspension;
  if (cause === 'permission') return { kind: 'permission' };
  if (cause !== 'limit' && !asksForWords(suspension)) return { kind: 'again' };
  if (cause === 'agent') return { kind: 'text' };
  const state = await readState(engine.repository, thread, head);
  if (cause === 'limit') {
    // A limit of this machine's configuration is not known here: then the field is empty.
    return { kind: 'limit', schema: limitSchema, shape: limitShape, reached: await findLimitWaitedAt(engine, state) };
  }
  const schema = findRole(await definitionOf(engine, state), role)?.schema ?? {};
  const shape = formOf(schema);
  if (shape === undefined) return { kind: 'text', schema, template: replyTemplate(schema) };
  return shape.fields.length === 0 ? { kind: 'text' } : { kind: 'reply', schema, shape };
}

/** Splits the reason of a wait for a permission: what would be done, and how to allow it for good. `undefined` for another text. */
export function splitPermission(reason: string): { deed: string; howTo: string } | undefined {
  // The agent's words of the deed can contain the words that uwf adds, so the last of these are looked for.
  const [, deed, howTo] =
    /^.*? asks for a permission: ([^]*)(?:;|\n) ?(answer it with yes or no[^]*)$/u.exec(reason) ?? [];
  return deed === undefined || howTo === undefined ? undefined : { deed, howTo };
}

/** Removes the template of an answer from the end of a role's text, because the page shows a form for it. */
export function withoutTemplate(text: string): string {
  return text.replace(/(?:^|\n\n)---\n[^]*\n---\s*$/u, '');
}

/** What was typed into the form of a question, and what is wrong with it. */
export type TypedAnswer = { typed: URLSearchParams; errors: readonly SchemaError[] };

/** What a form answers, or why it is shown once more. */
type ReadAnswerForm = { kind: 'given'; given: GivenToGoOn } | ({ kind: 'again' } & TypedAnswer);

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

/** A workflow that can be started by its name; of a file, the description is not read. */
export type StartableWorkflow = { name: string; description: string };

/** Lists the workflows that have names here: files of the work tree and registered ones; of one name the file. */
export async function listStartable({ repository, cwd }: EngineContext): Promise<StartableWorkflow[]> {
  const files = await listWorkflowFiles(repository, cwd);
  const { workflows } = await listWorkflows(repository);
  const names = new Set(files.map(({ name }) => name));
  const named = [
    ...files.map(({ name }) => ({ name, description: '' })),
    ...workflows.filter(({ name }) => !names.has(name)).map(({ name, description }) => ({ name, description })),
  ];
  return named.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
