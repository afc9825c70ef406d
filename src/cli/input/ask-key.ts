import type { CliContext } from '../context.ts';
import { harmless } from '../output/width.ts';

/** The terminal of a process, as far as single keys need it. */
type Keyboard = NodeJS.ReadableStream & { setRawMode?: (isRaw: boolean) => unknown };

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
  // The process's own terminal is a stream of that kind, too.
  const keyboard = cli.stdin as unknown as Keyboard;
  const stopped = AbortSignal.any([cli.signal, ...(signal ? [signal] : [])]);
  stopped.throwIfAborted();
  cli.stderr.write(`\n${harmless(question).trimEnd()} `);
  keyboard.setRawMode?.(true);
  let end = (): void => {};
  try {
    const key = await new Promise<string>((resolve, reject) => {
      const onData = (chunk: Buffer | string): void => {
        const typed = chunk.toString();
        // In raw mode the terminal does not send the signal itself.
        if (typed.startsWith(CTRL_C)) process.kill(process.pid, 'SIGINT');
        else if (typed.startsWith(CTRL_D)) resolve('');
        else {
          const first = typed.slice(0, 1).toLowerCase();
          if (first !== '' && keys.includes(first)) resolve(first);
        }
      };
      const onEnd = (): void => resolve('');
      // An abort's reason is whatever the one who aborts gives.
      const onAbort = (): void => reject(stopped.reason as Error);
      end = () => {
        keyboard.off('data', onData).off('end', onEnd);
        stopped.removeEventListener('abort', onAbort);
      };
      keyboard.on('data', onData).on('end', onEnd);
      stopped.addEventListener('abort', onAbort, { once: true });
      keyboard.resume();
    });
    cli.stderr.write(`${key}\n`);
    return key;
  } finally {
    end();
    keyboard.pause();
    keyboard.setRawMode?.(false);
  }
}
