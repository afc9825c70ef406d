import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { TextOption } from './command.ts';
import { type CliEnvironment, canAsk } from '../process/cli-environment.ts';
import { UsageError } from '../errors/usage-error.ts';
import { orElse } from '../../or-else.ts';

/** The two ways, as with `git commit`, in which a command is given a longer text. */
export const promptOptions: { prompt: TextOption; file: TextOption } = {
  prompt: { short: 'p', value: '<text>', summary: "what is to be done; '-' reads it from stdin" },
  file: { short: 'F', value: '<file>', summary: "read the prompt from a file; '-' is stdin", candidates: 'file' },
};

/** How much of a file or of stdin is held in memory, and the error for more. */
export type ReadBound = {
  maxBytes: number;
  /** @param bytes how many there are, in words: `209715200`, or `more than 33554432` where the end was not read */
  refuse: (bytes: string) => Error;
};

/**
 * Reads a text that is given as itself or in a file; `-` is stdin in both.
 *
 * @param bound the most that is read; default: no bound
 * @returns `undefined` if neither is given
 * @throws {UsageError} if both are given, or what is named cannot be read as UTF-8
 * @throws what `bound.refuse` makes, if there is more
 */
export async function textFrom(
  cli: CliEnvironment,
  given: { text: string | undefined; file: string | undefined },
  bound?: ReadBound,
): Promise<string | undefined> {
  const { text, file } = given;
  if (text !== undefined && file !== undefined) throw new UsageError('a text and --file cannot be given together');
  if (text === '-' || file === '-') return readAll(cli, bound);
  return file === undefined ? text : readTextFile(cli, file, bound);
}

function readTextFile(cli: CliEnvironment, path: string, bound?: ReadBound): string {
  const file = resolve(cli.cwd, path);
  // What cannot be looked at cannot be read either, which says why.
  const stats = orElse(() => statSync(file), undefined);
  if (bound !== undefined && stats?.isFile() && stats.size > bound.maxBytes) throw bound.refuse(String(stats.size));
  try {
    return decode(readFileSync(file), path);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const reason = error instanceof Error ? error.message.replace(/,.*$/s, '') : String(error);
    throw new UsageError(`cannot read ${path}: ${reason}`, 'paths are relative to the current folder, or to -C');
  }
}

async function readAll(cli: CliEnvironment, bound?: ReadBound): Promise<string> {
  if (cli.stdin.isTTY === true) cli.stderr.write('uwf: reading from the terminal; end with Ctrl-D\n');
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of cli.stdin) {
    const part = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    bytes += part.byteLength;
    if (bound !== undefined && bytes > bound.maxBytes) throw bound.refuse(`more than ${bound.maxBytes}`);
    chunks.push(part);
  }
  return decode(Buffer.concat(chunks), 'stdin');
}

function decode(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const hint = "nodes hold text and JSON only; 'uwf cas put --pin <file>' keeps any file as it is";
    throw new UsageError(`${source} is not text in UTF-8`, hint);
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
