import { createInterface } from 'node:readline/promises';
import type { CliContext } from '../context.ts';
import { createPalette } from '../output/palette.ts';
import { harmless } from '../output/width.ts';
import { keyboardOf } from './next-typed.ts';

/**
 * Asks the person at the terminal and gives back what they wrote: any number of lines, up to one with a single dot or to
 * Ctrl-D. Nothing means that they would rather not answer now.
 *
 * @throws the reason of the command's signal, or of `signal`, when that is aborted
 */
export async function ask(cli: CliContext, question: string, signal?: AbortSignal): Promise<string> {
  const paint = createPalette(cli.stderr, cli.env);
  const how = "answer below; end with a line '.' or Ctrl-D; nothing at all leaves it for later";
  cli.stderr.write(`\n${harmless(question).trimEnd()}\n\n${paint.hint(how)}\n`);
  const lines = createInterface({ input: keyboardOf(cli), terminal: false });
  const stop = (): void => lines.close();
  const stopped = AbortSignal.any([cli.signal, ...(signal ? [signal] : [])]);
  stopped.addEventListener('abort', stop, { once: true });
  const answer: string[] = [];
  try {
    for await (const line of lines) {
      if (line === '.') break;
      answer.push(line);
    }
    stopped.throwIfAborted();
    return answer.join('\n');
  } finally {
    stopped.removeEventListener('abort', stop);
    lines.close();
  }
}
