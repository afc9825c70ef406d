import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { TextOption } from './command.ts';
import { type CliEnvironment, canAsk } from '../process/cli-environment.ts';
import { UsageError } from '../errors/usage-error.ts';

/** The two ways, as with `git commit`, in which a command is given a longer text. */
export const promptOptions: { prompt: TextOption; file: TextOption } = {
  prompt: { short: 'p', value: '<text>', summary: "what is to be done; '-' reads it from stdin" },
  file: { short: 'F', value: '<file>', summary: "read the prompt from a file; '-' is stdin", candidates: 'file' },
};

/**
 * Reads a text that is given as itself or in a file; `-` is stdin in both.
 *
 * @returns `undefined` if neither is given
 * @throws {UsageError} if both are given, or what is named cannot be read as UTF-8
 */
export async function textFrom(
  cli: CliEnvironment,
  given: { text: string | undefined; file: string | undefined },
): Promise<string | undefined> {
  const { text, file } = given;
  if (text !== undefined && file !== undefined) throw new UsageError('a text and --file cannot be given together');
  if (text === '-' || file === '-') return readAll(cli);
  return file === undefined ? text : readTextFile(cli, file);
}

function readTextFile(cli: CliEnvironment, path: string): string {
  try {
    return decode(readFileSync(resolve(cli.cwd, path)), path);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const reason = error instanceof Error ? error.message.replace(/,.*$/s, '') : String(error);
    throw new UsageError(`cannot read ${path}: ${reason}`, 'paths are relative to the current folder, or to -C');
  }
}

async function readAll(cli: CliEnvironment): Promise<string> {
  if (cli.stdin.isTTY === true) cli.stderr.write('uwf: reading from the terminal; end with Ctrl-D\n');
  const chunks: Uint8Array[] = [];
  for await (const chunk of cli.stdin) chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return decode(Buffer.concat(chunks), 'stdin');
}

function decode(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(
      `${source} is not text in UTF-8`,
      "nodes hold text and JSON only; 'uwf cas put --pin <file>' keeps any file as it is",
    );
  }
}

/**
 * Reads the prompt of a new thread, or what else is to be said, from `--prompt` or `--file`; a person at a terminal who
 * gave neither is asked.
 *
 * @throws {UsageError} if there is none
 */
export async function promptFrom(
  cli: CliEnvironment,
  options: { prompt: string | undefined; file: string | undefined },
  words: { question: string; missing: string } = {
    question: 'What is to be done?',
    missing: 'a thread needs a prompt',
  },
): Promise<string> {
  let prompt = await textFrom(cli, { text: options.prompt, file: options.file });
  if (prompt === undefined && canAsk(cli)) {
    const { ask } = await import('../ask/ask.ts');
    prompt = await ask(cli, words.question);
  }
  if (prompt === undefined || prompt.trim() === '') {
    throw new UsageError(words.missing, "give it with -p '<text>', -p - (from stdin) or -F <file>");
  }
  return prompt;
}
