import type { CliContext } from '../context.ts';
import { harmless } from '../output/width.ts';
import { keyboardOf, nextTyped } from './next-typed.ts';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
/** What a terminal has kept arrives at once; this is for a machine that is busy. */
const TYPED_BEFORE_MS = 50;

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
  keyboard.setRawMode?.(true);
  const take = (chunk: Buffer): string | undefined => {
    const typed = chunk.toString();
    if (typed.startsWith(CTRL_D)) return '';
    if (typed.startsWith(CTRL_C)) sayStop();
    const first = typed.slice(0, 1).toLowerCase();
    return first !== '' && keys.includes(first) ? first : undefined;
  };
  try {
    // What was typed before the question could be seen answers nothing.
    await forgetTyped(cli, signal);
    cli.stderr.write(`\n${harmless(question).trimEnd()} `);
    const key = (await nextTyped(cli, take, signal)) ?? '';
    cli.stderr.write(`${key}\n`);
    return key;
  } finally {
    keyboard.setRawMode?.(false);
  }
}

/** Reads what is waiting at the keyboard, and drops it. */
async function forgetTyped(cli: CliContext, signal?: AbortSignal): Promise<void> {
  const waited = new AbortController();
  const timer = setTimeout(() => waited.abort(waited), TYPED_BEFORE_MS);
  try {
    const stopped = AbortSignal.any([waited.signal, ...(signal ? [signal] : [])]);
    await nextTyped(cli, (typed) => (typed.toString().startsWith(CTRL_C) ? sayStop() : undefined), stopped);
  } catch (error) {
    if (error !== waited) throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** In raw mode the terminal does not send the signal itself. */
function sayStop(): undefined {
  process.kill(process.pid, 'SIGINT');
}
