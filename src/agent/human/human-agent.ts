import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { JsonObject } from '../../json.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { answerableStatuses, replyOfAnswer } from './answer-reply.ts';
import { editFile } from './edit-file.ts';
import { replyFile, replyInFile, replyTemplate } from './reply-file.ts';

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
 * At a terminal (where `askPerson` is given) it opens an editor on a reply to fill in, as `git commit` does, or asks
 * there where no editor is configured. Without a terminal it suspends and says how to answer; what a person answered to
 * a suspension is the reply, read as `replyOfAnswer` describes.
 * @param config has been checked against `packageDescriptor.configSchema`
 */
export function createAgent(config: JsonObject): Agent {
  // The schema that config was checked against describes this very type.
  const { editor } = config as HumanConfig;
  return { run: (request) => askHuman(request, editor), answers: true };
}

async function askHuman(request: AgentRequest, configuredEditor: string | undefined): Promise<AgentReply> {
  request.signal.throwIfAborted();
  const { answer, attempt, env } = request;
  // At a later try the answer is known to be no good.
  if (answer !== undefined && attempt === 0) return { kind: 'reply', ...replyOfAnswer(answer, request.outputSchema) };
  if (request.askPerson === undefined) return suspension(request);
  const editor = configuredEditor ?? [env['VISUAL'], env['EDITOR']].find((command) => command?.trim());
  if (editor !== undefined) return edit(editor, request);
  const said = await unlessAborted(request.askPerson(request.prompt), request.signal);
  return said.trim() === '' ? suspension(request) : { kind: 'reply', ...replyOfAnswer(said, request.outputSchema) };
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
  return { kind: 'reply', ...replyOfAnswer(`${reply}\n`, request.outputSchema) };
}

function suspension(request: AgentRequest, why = ''): AgentReply {
  const { role, prompt, outputSchema, attempt } = request;
  const statuses = answerableStatuses(outputSchema).map((status) => `'${status}'`);
  const how = statuses.length < 2 ? '' : ` (the reply may be ${statuses.join(' or ')}, with text below it)`;
  const reasons = [why, attempt === 0 ? '' : 'the last one was not accepted'].filter((text) => text !== '');
  const again = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`;
  return {
    kind: 'suspend',
    cause: 'human',
    // How to answer is said where the thread is shown: a fork of it has these words too.
    reason: `role '${role}' waits for a person's reply${again}${how}`,
    text: `${prompt}\n${replyTemplate(outputSchema)}`,
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
