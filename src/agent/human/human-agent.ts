import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isNotThere } from '../../git/format/errors.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { describeBuiltIn } from '../describe-built-in.ts';
import { checkValue, parseFields } from '../extract/extract-reply.ts';
import { descendantsOf, isTrueWithin, runningProcesses, sendSignal } from '../processes/process-group.ts';
import { whenAborted, within } from '../processes/within.ts';
import { asValidated, NOT_EMPTY, objectSchema, textSchema } from '../../schema/typed-schema.ts';
import {
  fieldNamed,
  needsForm,
  openField,
  type OpenField,
  type ReadAnswer,
  readChoice,
  readTypedAnswer,
  replyTemplate,
  withConstants,
  wordsToShow,
} from './answer-reply.ts';

/** Longer questions are not the reason that lists show, but stand in the thread. */
const MAX_REASON_CHARACTERS = 200;

const configSchema = objectSchema(
  {},
  { editor: textSchema('a shell command that opens the file it is given ($VISUAL, $EDITOR)', NOT_EMPTY) },
);

/** `builtin:human`: a person takes the turn, at the terminal or later. */
export const packageDescriptor: PackageDescriptor = describeBuiltIn('human', ['interactive'], configSchema);

/**
 * Makes an agent that asks a person.
 *
 * At a terminal (where `askPerson` is given) it opens an editor on a reply to fill in, as `git commit` does; where no
 * editor is configured it asks there, field by field. Without a terminal it suspends with the question; what a person
 * answered to a suspension is the reply, read as `readTypedAnswer` describes.
 */
export function createAgent(config: JsonObject): Agent {
  const { editor } = asValidated(config, configSchema);
  return { run: (request) => askHuman(request, editor), answers: true };
}

/** What it takes to ask a person for the turn of a role. */
type PersonsTurn = Pick<
  AgentRequest,
  | 'threadId'
  | 'role'
  | 'cwd'
  | 'prompt'
  | 'promptWithoutSession'
  | 'task'
  | 'edgePrompt'
  | 'forPerson'
  | 'outputSchema'
  | 'attempt'
  | 'answer'
  | 'env'
  | 'stepDir'
  | 'signal'
  | 'askPerson'
>;

/** Asks a person for a turn; see {@link createAgent}. */
export async function askHuman(request: PersonsTurn, configuredEditor: string | undefined): Promise<AgentReply> {
  request.signal.throwIfAborted();
  const { attempt, env, askPerson, outputSchema } = request;
  const editor = configuredEditor ?? [env['VISUAL'], env['EDITOR']].find((command) => command?.trim());
  // At a later try the answer is known to be no good.
  const answer = attempt === 0 ? request.answer : undefined;
  if (answer !== undefined) {
    const read = readTypedAnswer(answer, outputSchema);
    if (read.isWhole || askPerson === undefined || editor !== undefined) return judged(read, outputSchema);
  }
  if (askPerson === undefined) return suspension(request);
  if (editor !== undefined) return edit(editor, request);
  const { signal } = request;
  const askLine = (question: string): Promise<string> => within(askPerson(question, { isLine: true, signal }), signal);
  const told = toldTo(request);
  if (openField(outputSchema, {}) !== undefined) {
    const said = await askInTurn(askLine, outputSchema, told, answer);
    return said === undefined ? suspension(request) : { kind: 'reply', ...said };
  }
  const text = await within(askPerson(`${told.briefing}\n${told.question}`, { signal }), signal);
  return text.trim() === '' ? suspension(request) : replyOf(readTypedAnswer(text, outputSchema));
}

/** What a person is told at the terminal: where a reply was refused, why, for they have read the rest. */
function toldTo({ forPerson, edgePrompt, task, attempt, prompt, promptWithoutSession }: PersonsTurn): Told {
  const { briefing, question } = forPerson ?? { briefing: '', question: edgePrompt ?? task };
  if (attempt === 0) return { briefing, question };
  return {
    briefing: prompt.startsWith(promptWithoutSession) ? prompt.slice(promptWithoutSession.length) : prompt,
    question,
  };
}

async function edit(editor: string, request: PersonsTurn): Promise<AgentReply> {
  const file = join(request.stepDir, 'REPLY.md');
  // At a later try the step's folder still has what was written before.
  const earlier = await readFile(file, 'utf8').catch(() => undefined);
  const start = earlier === undefined ? replyTemplate(request.outputSchema) : replyInFile(earlier);
  const told = `You are '${request.role}' of thread ${request.threadId}.\n\n${request.prompt}`;
  await writeFile(file, `${start}\n${EXPLANATION}\n${told}`);
  const isWell = await editFile(editor, file, request);
  // An editor that failed may have taken the file away, and so may a person who did not want to answer.
  const written = await readFile(file, 'utf8').catch((error: unknown) => {
    if (isNotThere(error)) return '';
    throw error;
  });
  const reply = replyInFile(written);
  if (!isWell) return suspension(request, `the editor '${editor}' failed`);
  if (reply.trim() === '' || reply.trim() === start.trim()) return suspension(request);
  return replyOf(readTypedAnswer(`${reply}\n`, request.outputSchema));
}

/** A reply, or the refusal of an answer that has none of the words from which a person had to choose. */
function judged(read: ReadAnswer, schema: JsonObject): AgentReply {
  const field = read.isWhole || read.meta !== undefined ? undefined : openField(schema, {});
  if (field?.choices === undefined) return replyOf(read);
  const words = wordsToShow(field).join(', ');
  return {
    kind: 'failed-attempt',
    reason: `the answer has to begin with one of these words: ${words}`,
    text: read.text,
  };
}

function replyOf({ text, meta }: ReadAnswer): AgentReply {
  return { kind: 'reply', text, ...(meta && { meta }) };
}

function suspension(request: PersonsTurn, why = ''): AgentReply {
  const { role, outputSchema, attempt } = request;
  const { question } = toldTo(request);
  const isShort = question.length <= MAX_REASON_CHARACTERS && !question.includes('\n');
  const asked = withChoices(isShort ? question : `role '${role}' waits for a person's reply`, outputSchema);
  const reasons = [why, attempt === 0 ? '' : 'the last reply was not accepted'].filter((text) => text !== '');
  const again = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`;
  const details = [...(isShort ? [] : [question]), ...(needsForm(outputSchema) ? [replyTemplate(outputSchema)] : [])];
  return {
    kind: 'suspend',
    cause: 'human',
    // How to answer is said where the thread is shown: a fork of it has these words too.
    reason: `${asked}${again}`,
    ...(details.length > 0 && { text: details.join('\n\n') }),
  };
}

const SCISSORS = '------------------------ >8 ------------------------';
const EXPLANATION = `${SCISSORS}
Everything from the line above on is left out. Write your reply before it; an empty reply, or one that
was not changed, suspends the thread until 'uwf thread resume'.
`;

/** What a person wrote: the file up to the line that ends it. */
function replyInFile(file: string): string {
  const lines = file.split(/(?<=\n)/u);
  const end = lines.findIndex((line) => line.trim() === SCISSORS);
  return (end === -1 ? lines : lines.slice(0, end)).join('').trimEnd();
}

/** Choices that are longer stand below each other, with numbers. */
const MAX_CHOICES_IN_LINE = 60;
const LATER = 'Enter alone leaves it for later';

/** What a person said: a text, and fields that the role's schema asks for. */
type Said = { text: string; meta: JsonObject };

export type Told = NonNullable<AgentRequest['forPerson']>;
/** Asks for one line; '' where nothing is said. */
type AskLine = (question: string) => Promise<string>;

/**
 * Asks a person for the fields of a reply, one after the other; each answer is checked before the next question.
 * @param told what they are to know first, and the question
 * @param said what they have said already, which is read as the first answer
 * @returns `undefined` when they leave a question for later
 */
async function askInTurn(
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
function withChoices(question: string, schema: JsonObject): string {
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

/** From SIGTERM to SIGKILL for an editor when the turn is stopped. */
const GRACE_MS = 2_000;

/**
 * Opens a file in a person's editor, at the terminal that this process has, and waits until it is closed.
 *
 * The editor is a shell command as git's `core.editor` is: `code --wait`. It stays in the terminal's foreground group, so
 * when the signal is aborted it is ended process by process: what the shell started would outlive the shell.
 * Resolves with true when it ended well, with false when it did not or could not be started.
 */
async function editFile(
  editor: string,
  file: string,
  options: { cwd: string; env: Readonly<Record<string, string>>; signal: AbortSignal },
): Promise<boolean> {
  const { cwd, env, signal } = options;
  signal.throwIfAborted();
  const child = spawn('sh', ['-c', `${editor} "$@"`, editor, file], { cwd, env, stdio: 'inherit' });
  const closed = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
  let ending: Promise<void> | undefined;
  const forget = whenAborted(signal, () => {
    ending = child.pid === undefined ? undefined : endProcesses([child.pid, ...descendantsOf(child.pid)]);
  });
  try {
    const isWell = await closed;
    await ending;
    signal.throwIfAborted();
    return isWell;
  } finally {
    forget();
  }
}

async function endProcesses(pids: readonly number[]): Promise<void> {
  for (const pid of pids) sendSignal(pid, 'SIGTERM');
  const areGone = (): boolean => !runningProcesses()?.some(({ pid }) => pids.includes(pid));
  if (await isTrueWithin(GRACE_MS, areGone)) return;
  for (const pid of pids) sendSignal(pid, 'SIGKILL');
}
