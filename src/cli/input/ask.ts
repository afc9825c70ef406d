import { createInterface } from 'node:readline/promises';
import type { CliContext } from '../context.ts';
import { createPalette } from '../output/palette.ts';
import { harmless } from '../output/width.ts';

/**
 * Asks the person at the terminal and gives back what they wrote: any number of lines, up to one with a single dot or to
 * Ctrl-D. Nothing means that they would rather not answer now.
 *
 * @throws the signal's reason when that is aborted
 */
export async function ask(cli: CliContext, question: string): Promise<string> {
  const paint = createPalette(cli.stderr, cli.env);
  const how = "answer below; end with a line '.' or Ctrl-D; nothing at all leaves it for later";
  cli.stderr.write(`\n${harmless(question).trimEnd()}\n\n${paint.hint(how)}\n`);
  // The process's own terminal is both a stream and something to iterate over.
  const lines = createInterface({ input: cli.stdin as unknown as NodeJS.ReadableStream, terminal: false });
  const stop = (): void => lines.close();
  cli.signal.addEventListener('abort', stop, { once: true });
  const answer: string[] = [];
  try {
    for await (const line of lines) {
      if (line === '.') break;
      answer.push(line);
    }
    cli.signal.throwIfAborted();
    return answer.join('\n');
  } finally {
    cli.signal.removeEventListener('abort', stop);
    lines.close();
  }
}
