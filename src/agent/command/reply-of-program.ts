import type { AgentReply } from '../contract.ts';
import type { CommandConfig } from './command-config.ts';
import type { ProgramResult } from './run-program.ts';

/** How much of a reply that was too long is kept with the failed attempt, in characters. */
const KEPT_CHARACTERS = 65_536;
/** How much of its output is quoted where standard error is empty. */
const QUOTED_CHARACTERS = 4096;
/** More of a word is no secret. */
const LONGEST_WORD = 1024;

/**
 * Makes a reply of what a program did.
 *
 * - an exit that `retryOnExit` names: a failed attempt, after which it is run again
 * - an exit that `statuses` names: its `$status`, the output as the text
 * - exit code 0 otherwise: the output is the reply, front matter and all
 * - anything else, and an output that was too long: a failed attempt, with the end of what it said
 *
 * Whatever a program has done, running it again does it again, so that what it came to is final: but for what it writes as
 * a reply, which it is told the mistakes of, and where the configuration says that the program answers.
 */
export function replyOfProgram(result: ProgramResult, config: CommandConfig): AgentReply {
  const [program] = config.argv;
  if (result.isCut) {
    return {
      kind: 'failed-attempt',
      reason: `'${program}' wrote more than 'maxOutputBytes' allows and was ended`,
      text: beginningOf(result.output),
      isFinal: true,
    };
  }
  const { exit } = result;
  const text = textOf(result, config.output);
  const key = exit.kind === 'code' ? exit.code : exit.signal;
  if (config.retryOnExit?.includes(key) === true) {
    return { kind: 'failed-attempt', reason: reasonOf(program, result), text };
  }
  const status = statusOf(String(key), config.statuses ?? {});
  if (status !== undefined) {
    return { kind: 'reply', text, meta: { $status: status }, isFinal: config.answers !== true };
  }
  if (key === 0) return { kind: 'reply', text };
  return { kind: 'failed-attempt', reason: reasonOf(program, result), text, isFinal: true };
}

function textOf({ output, aside }: ProgramResult, wanted: CommandConfig['output']): string {
  return wanted === undefined && output.trim() === '' && aside.trim() !== '' ? aside : output;
}

function statusOf(key: string, statuses: Readonly<Record<string, string>>): string | undefined {
  for (const wanted of [key, 'default']) if (Object.hasOwn(statuses, wanted)) return statuses[wanted];
  return undefined;
}

function reasonOf(program: string, { exit, errorTail, output }: ProgramResult): string {
  const how = exit.kind === 'code' ? `ended with exit code ${exit.code}` : `was ended by ${exit.signal}`;
  const said = errorTail === '' ? endOf(output) : errorTail;
  return said === '' ? `'${program}' ${how}` : `'${program}' ${how}: ${said}`;
}

/** The beginning of a text. A word torn by the bound is left out: of a secret the rest is none that can be known. */
function beginningOf(text: string): string {
  const end = KEPT_CHARACTERS - LONGEST_WORD;
  return text.slice(0, end) + text.slice(end, KEPT_CHARACTERS).replace(/\S+$/u, '');
}

/** The end of a text, in the same way. */
function endOf(text: string): string {
  const end = text.slice(-QUOTED_CHARACTERS);
  return (end === text ? end : end.replace(/^\S{1,1024}/u, '')).trim();
}
