import { closeSync, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../ask/ask.ts';
import type { TextOption } from './command.ts';
import { type CliEnvironment, canAsk } from '../process/cli-environment.ts';
import { UsageError } from '../errors/exit-code.ts';
import { within } from '../../agent/processes/within.ts';
import { NODE_LIMITS, tooManyBytes } from '../../cas/canonical.ts';
import { messageOf, UwfError } from '../../errors.ts';
import { errnoOf } from '../../git/format/errors.ts';
import { READ } from '../../git/system/files.ts';
import { orElse } from '../../or-else.ts';

/** The two ways, as with `git commit`, in which a command is given a longer text. */
export const promptOptions: { prompt: TextOption; file: TextOption } = {
  prompt: { short: 'p', value: '<text>', summary: "what is to be done; '-' reads it from stdin" },
  file: { short: 'F', value: '<file>', summary: "read the prompt from a file; '-' is stdin", candidates: 'file' },
};

/** What is stored can be smaller than what was given (JSON is written anew, secrets are replaced): twice the largest node. */
const MAX_INPUT_BYTES = 2 * NODE_LIMITS.maxBytes;

/** Reads a text that is given as itself or in a file; `-` is stdin in both. `undefined` if neither is given. */
export async function textFrom(
  cli: CliEnvironment,
  given: { text: string | undefined; file: string | undefined },
): Promise<string | undefined> {
  const { text, file } = given;
  if (text !== undefined && file !== undefined) throw new UsageError('a text and --file cannot be given together');
  if (text === '-' || file === '-') return readAll(cli);
  return file === undefined ? text : readTextFile(cli, file);
}

async function readTextFile(cli: CliEnvironment, path: string): Promise<string> {
  const file = resolve(cli.cwd, path);
  // What cannot be looked at cannot be read either, which says why.
  const stats = orElse(() => statSync(file), undefined);
  if (stats?.isFile() && stats.size > MAX_INPUT_BYTES) throw tooManyBytes(String(stats.size));
  try {
    return decode(await gather(cli, piecesOf(file, cli.signal)), path);
  } catch (error) {
    cli.signal.throwIfAborted();
    if (error instanceof UwfError || errnoOf(error) === undefined) throw error;
    throw new UsageError(
      `cannot read ${path}: ${messageOf(error).replace(/,.*$/s, '')}`,
      'paths are relative to the current folder, or to -C',
    );
  }
}

/** How often a pipe or a terminal is asked for more, in ms. */
const POLL_MS = 20;

/** Reads a file, a device or a pipe, without waiting inside of the system, where no signal would end the wait. */
async function* piecesOf(file: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  const descriptor = openSync(file, READ);
  try {
    // A pipe with a name may wait for its writer; one that a shell has made has had its.
    const isNamed = orElse(() => realpathSync.native(file), undefined) !== undefined;
    let isBegun = !(isNamed && fstatSync(descriptor).isFIFO());
    for (const buffer = Buffer.alloc(64 * 1024); ;) {
      let count: number | undefined;
      try {
        count = readSync(descriptor, buffer);
      } catch (error) {
        if (errnoOf(error) !== 'EAGAIN') throw error;
        isBegun = true;
      }
      if (count === 0 && isBegun) return;
      if (!count) await sleep(POLL_MS, undefined, { signal });
      else yield Buffer.from(buffer.subarray(0, count));
      isBegun ||= count !== 0;
    }
  } finally {
    closeSync(descriptor);
  }
}

async function readAll(cli: CliEnvironment): Promise<string> {
  if (cli.stdin.isTTY === true) cli.stderr.write('uwf: reading from the terminal; end with Ctrl-D\n');
  return decode(await gather(cli, cli.stdin), 'stdin');
}

/** Reads a stream to its end, or to the bound. A signal to the command ends the wait. */
async function gather({ signal }: CliEnvironment, stream: AsyncIterable<string | Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reading = (async () => {
    for await (const chunk of stream) {
      const part = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      bytes += part.byteLength;
      if (bytes > MAX_INPUT_BYTES) throw tooManyBytes(`more than ${MAX_INPUT_BYTES}`);
      chunks.push(part);
    }
  })();
  await within(reading, signal);
  return Buffer.concat(chunks);
}

function decode(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const hint = "nodes hold text and JSON only; 'uwf cas put --pin <file>' keeps any file as it is";
    throw new UsageError(`${source} is not text in UTF-8`, hint);
  }
}

/** Reads the prompt of a new thread, or what else is to be said, from the options, else from a person at the terminal. */
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
    prompt = await ask(cli, words.question);
  }
  if (prompt === undefined || prompt.trim() === '') {
    throw new UsageError(words.missing, "give it with -p '<text>', -p - (from stdin) or -F <file>");
  }
  return prompt;
}
