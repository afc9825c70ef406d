import type { CliContext } from '../context.ts';
import { harmless } from '../output/width.ts';
import { keyboardOf, nextTyped } from './next-typed.ts';

const NEWLINE = 0x0a;

/**
 * Asks the person at the terminal a question that one line answers; what they type beyond it waits for the next question.
 *
 * @returns the line, or '' where there is none: Ctrl-D, or no more input
 * @throws the reason of the command's signal, or of `signal`, when that is aborted
 */
export async function askLine(cli: CliContext, question: string, signal?: AbortSignal): Promise<string> {
  cli.stderr.write(`\n${harmless(question).trim()} `);
  let typed = Buffer.alloc(0);
  let rest = Buffer.alloc(0);
  const take = (chunk: Buffer): string | undefined => {
    typed = Buffer.concat([typed, chunk]);
    const end = typed.indexOf(NEWLINE);
    if (end === -1) return undefined;
    rest = typed.subarray(end + 1);
    return typed.subarray(0, end).toString().replace(/\r$/u, '');
  };
  const line = await nextTyped(cli, take, signal);
  if (rest.length > 0) keyboardOf(cli).unshift(rest);
  if (line === undefined) cli.stderr.write('\n');
  return line ?? '';
}
