import type { CliContext } from '../context.ts';
import { harmless } from '../output/width.ts';
import { keyboardOf, nextTyped } from './next-typed.ts';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

/**
 * Asks the person at the terminal a question that one key answers, without Enter. Other keys do nothing; Ctrl-C stops the
 * command as ever.
 *
 * @param keys the keys that are answers, in lower case
 * @returns the key, or '' where there is no answer: Ctrl-D, or no more input
 * @throws the reason of the command's signal, or of `signal`, when that is aborted
 */
export async function askKey(cli: CliContext, question: string, keys: string, signal?: AbortSignal): Promise<string> {
  const keyboard = keyboardOf(cli);
  cli.signal.throwIfAborted();
  cli.stderr.write(`\n${harmless(question).trimEnd()} `);
  keyboard.setRawMode?.(true);
  const take = (chunk: Buffer): string | undefined => {
    const typed = chunk.toString();
    if (typed.startsWith(CTRL_D)) return '';
    // In raw mode the terminal does not send the signal itself.
    if (typed.startsWith(CTRL_C)) process.kill(process.pid, 'SIGINT');
    const first = typed.slice(0, 1).toLowerCase();
    return first !== '' && keys.includes(first) ? first : undefined;
  };
  try {
    const key = (await nextTyped(cli, take, signal)) ?? '';
    cli.stderr.write(`${key}\n`);
    return key;
  } finally {
    keyboard.setRawMode?.(false);
  }
}
