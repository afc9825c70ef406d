import type { AgentReply } from '../contract.ts';
import type { CommandConfig } from './command-config.ts';
import type { ProgramExit, ProgramResult } from './run-program.ts';

/** How much of a reply that was too long is kept with the failed attempt, in characters. */
const KEPT_CHARACTERS = 65_536;
/** More of a word is no secret. */
const LONGEST_WORD = 1024;

/**
 * Makes a reply of what a program did.
 *
 * - an exit that `statuses` names: its `$status`, the output as the text
 * - exit code 0 otherwise: the output is the reply, front matter and all
 * - anything else, and an output that was too long: a failed attempt, with the end of standard error
 */
export function replyOfProgram(result: ProgramResult, config: Pick<CommandConfig, 'argv' | 'statuses'>): AgentReply {
  const [program] = config.argv;
  if (result.isCut) {
    return {
      kind: 'failed-attempt',
      reason: `'${program}' wrote more than 'maxOutputBytes' allows and was ended`,
      text: beginningOf(result.output),
    };
  }
  const status = statusOf(result.exit, config.statuses ?? {});
  if (status !== undefined) return { kind: 'reply', text: result.output, meta: { $status: status } };
  if (result.exit.kind === 'code' && result.exit.code === 0) return { kind: 'reply', text: result.output };
  return { kind: 'failed-attempt', reason: reasonOf(program, result), text: result.output };
}

function statusOf(exit: ProgramExit, statuses: Readonly<Record<string, string>>): string | undefined {
  const key = exit.kind === 'code' ? String(exit.code) : exit.signal;
  for (const wanted of [key, 'default']) if (Object.hasOwn(statuses, wanted)) return statuses[wanted];
  return undefined;
}

function reasonOf(program: string, { exit, errorTail }: ProgramResult): string {
  const how = exit.kind === 'code' ? `ended with exit code ${exit.code}` : `was ended by ${exit.signal}`;
  return errorTail === '' ? `'${program}' ${how}` : `'${program}' ${how}: ${errorTail}`;
}

/** The beginning of a text. A word torn by the bound is left out: of a secret the rest is none that can be known. */
function beginningOf(text: string): string {
  const end = KEPT_CHARACTERS - LONGEST_WORD;
  return text.slice(0, end) + text.slice(end, KEPT_CHARACTERS).replace(/\S+$/u, '');
}
