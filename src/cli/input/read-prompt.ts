import type { CliContext } from '../context.ts';
import { UsageError } from '../usage-error.ts';
import { canAsk } from './can-ask.ts';
import { readText } from './read-text.ts';

/**
 * Reads the prompt of a new thread, or what else is to be said, from `--prompt` or `--file`; a person at a terminal who
 * gave neither is asked.
 *
 * @throws {UsageError} if there is none
 */
export async function readPrompt(
  cli: CliContext,
  options: { prompt: string | undefined; file: string | undefined },
  words: { question: string; missing: string } = {
    question: 'What is to be done?',
    missing: 'a thread needs a prompt',
  },
): Promise<string> {
  let prompt = await readText(cli, { text: options.prompt, file: options.file });
  if (prompt === undefined && canAsk(cli)) {
    const { ask } = await import('./ask.ts');
    prompt = await ask(cli, words.question);
  }
  if (prompt === undefined || prompt.trim() === '') {
    throw new UsageError(words.missing, "give it with -p '<text>', -p - (from stdin) or -F <file>");
  }
  return prompt;
}
