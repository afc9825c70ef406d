import type { AgentReply } from '../contract.ts';
import type { CommandConfig } from './command-config.ts';
import type { ProgramExit, ProgramResult } from './run-program.ts';

/** How much of a reply that was too long is kept with the failed attempt, in characters. */
const KEPT_CHARACTERS = 65_536;

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
      text: result.output.slice(0, KEPT_CHARACTERS).replace(/[\uD800-\uDBFF]$/, ''),
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
