import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { TextOption } from '../command.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../usage-error.ts';

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
export async function readText(
  cli: CliContext,
  given: { text: string | undefined; file: string | undefined },
): Promise<string | undefined> {
  const { text, file } = given;
  if (text !== undefined && file !== undefined) throw new UsageError('a text and --file cannot be given together');
  if (text === '-' || file === '-') return readAll(cli);
  return file === undefined ? text : readTextFile(cli, file);
}

function readTextFile(cli: CliContext, path: string): string {
  try {
    return decode(readFileSync(resolve(cli.cwd, path)), path);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const reason = error instanceof Error ? error.message.replace(/,.*$/s, '') : String(error);
    throw new UsageError(`cannot read ${path}: ${reason}`, 'paths are relative to the current folder, or to -C');
  }
}

async function readAll(cli: CliContext): Promise<string> {
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
