import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { JsonObject } from '../../json.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { readAnswer, type ReadAnswer } from './answer-reply.ts';
import { askInTurn, withChoices, type Told } from './ask-in-turn.ts';
import { editFile } from './edit-file.ts';
import { needsForm, openField } from './open-field.ts';
import { replyFile, replyInFile, replyTemplate } from './reply-file.ts';

/** Longer questions are not the reason that lists show, but stand in the thread. */
const LONGEST_REASON = 200;

/** The configuration of `builtin:human`. */
type HumanConfig = {
  /** A shell command that opens the file it is given; default: `$VISUAL`, `$EDITOR`. */
  editor?: string;
};

/** `builtin:human`: a person takes the turn, at the terminal or later. */
export const packageDescriptor: PackageDescriptor = {
  name: 'builtin:human',
  version: '1.0.0',
  capabilities: ['interactive'],
  configSchema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      editor: {
        description: 'a shell command that opens the file it is given ($VISUAL, $EDITOR)',
        type: 'string',
        minLength: 1,
      },
    },
  },
};

/**
 * Makes an agent that asks a person.
 *
 * At a terminal (where `askPerson` is given) it opens an editor on a reply to fill in, as `git commit` does; where no
 * editor is configured it asks there, field by field. Without a terminal it suspends with the question; what a person
 * answered to a suspension is the reply, read as `readAnswer` describes.
 * @param config has been checked against `packageDescriptor.configSchema`
 */
export function createAgent(config: JsonObject): Agent {
  // The schema that config was checked against describes this very type.
  const { editor } = config as HumanConfig;
  return { run: (request) => askHuman(request, editor), answers: true };
}

async function askHuman(request: AgentRequest, configuredEditor: string | undefined): Promise<AgentReply> {
  request.signal.throwIfAborted();
  const { attempt, env, askPerson, outputSchema } = request;
  const editor = configuredEditor ?? [env['VISUAL'], env['EDITOR']].find((command) => command?.trim());
  // At a later try the answer is known to be no good.
  const answer = attempt === 0 ? request.answer : undefined;
  if (answer !== undefined) {
    const read = readAnswer(answer, outputSchema);
    if (read.isWhole || askPerson === undefined || editor !== undefined) return replyOf(read);
  }
  if (askPerson === undefined) return suspension(request);
  if (editor !== undefined) return edit(editor, request);
  const { signal } = request;
  const askLine = (question: string): Promise<string> =>
    unlessAborted(askPerson(question, { isLine: true, signal }), signal);
  const told = toldTo(request);
  if (openField(outputSchema, {}) !== undefined) {
    const said = await askInTurn(askLine, outputSchema, told, answer);
    return said === undefined ? suspension(request) : { kind: 'reply', ...said };
  }
  const text = await unlessAborted(askPerson(`${told.briefing}\n${told.question}`, { signal }), signal);
  return text.trim() === '' ? suspension(request) : replyOf(readAnswer(text, outputSchema));
}

/** What a person is told at the terminal: where a reply was refused, why, for they have read the rest. */
function toldTo({ forPerson, edgePrompt, task, attempt, prompt, promptWithoutSession }: AgentRequest): Told {
  const { briefing, question } = forPerson ?? { briefing: '', question: edgePrompt ?? task };
  if (attempt === 0) return { briefing, question };
  return {
    briefing: prompt.startsWith(promptWithoutSession) ? prompt.slice(promptWithoutSession.length) : prompt,
    question,
  };
}

async function edit(editor: string, request: AgentRequest): Promise<AgentReply> {
  const file = join(request.stepDir, 'REPLY.md');
  // At a later try the step's folder still has what was written before.
  const earlier = await readFile(file, 'utf8').catch(() => undefined);
  const start = earlier === undefined ? replyTemplate(request.outputSchema) : replyInFile(earlier);
  await writeFile(file, replyFile(start, request));
  const isWell = await editFile(editor, file, request);
  const reply = replyInFile(await readFile(file, 'utf8'));
  if (!isWell) return suspension(request, `the editor '${editor}' failed`);
  if (reply.trim() === '' || reply.trim() === start.trim()) return suspension(request);
  return replyOf(readAnswer(`${reply}\n`, request.outputSchema));
}

function replyOf({ text, meta }: ReadAnswer): AgentReply {
  return { kind: 'reply', text, ...(meta && { meta }) };
}

function suspension(request: AgentRequest, why = ''): AgentReply {
  const { role, outputSchema, attempt } = request;
  const { question } = toldTo(request);
  const isShort = question.length <= LONGEST_REASON && !question.includes('\n');
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

/** The question stays open when the turn is stopped; nobody waits for its answer then. */
async function unlessAborted(question: Promise<string>, signal: AbortSignal): Promise<string> {
  let stop = (): void => {};
  const aborted = new Promise<undefined>((resolve) => (stop = () => resolve(undefined)));
  signal.addEventListener('abort', stop, { once: true });
  try {
    const answer = await Promise.race([question, aborted]);
    signal.throwIfAborted();
    return answer ?? '';
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
