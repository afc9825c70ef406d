import { describeBuiltIn } from '../describe-built-in.ts';
import { isNotThere } from '../../git/format/object-errors.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { JsonObject } from '../../json.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { asValidated, NOT_EMPTY, objectSchema, textSchema } from '../typed-schema.ts';
import { readTypedAnswer, type ReadAnswer } from './answer-reply.ts';
import { askInTurn, withChoices, type Told } from './ask-in-turn.ts';
import { editFile } from './edit-file.ts';
import { needsForm, openField, wordsToShow } from './open-field.ts';
import { within } from '../processes/within.ts';
import { replyTemplate } from './reply-template.ts';

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
 * @param config has been checked against `packageDescriptor.configSchema`
 */
export function createAgent(config: JsonObject): Agent {
  const { editor } = asValidated(config, configSchema);
  return { run: (request) => askHuman(request, editor), answers: true };
}

/** What it takes to ask a person for the turn of a role. */
export type PersonsTurn = Pick<
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
