import { createInterface } from 'node:readline/promises';
import { createPalette, harmless } from '../output/text.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/**
 * Asks the person at the terminal and gives back what they wrote: any number of lines, up to one with a single dot or to
 * Ctrl-D. An empty answer leaves the question for later.
 * @throws the reason of the command's signal, or of `signal`, when that is aborted; so does all that asks here
 */
export async function ask(cli: CliEnvironment, question: string, signal?: AbortSignal): Promise<string> {
  const paint = createPalette(cli.stderr, cli.env);
  const how = "answer below; end with a line '.' or Ctrl-D; nothing at all leaves it for later";
  cli.stderr.write(`\n${harmless(question).trimEnd()}\n\n${paint.hint(how)}\n`);
  const stopped = AbortSignal.any([cli.signal, ...(signal ? [signal] : [])]);
  const lines = createInterface({ input: keyboardOf(cli), terminal: false, signal: stopped });
  const answer: string[] = [];
  try {
    for await (const line of lines) {
      if (line === '.') break;
      answer.push(line);
    }
    if (stopped.aborted) cli.stderr.write('\n');
    stopped.throwIfAborted();
    return answer.join('\n');
  } finally {
    lines.close();
  }
}

export type Keyboard = NodeJS.ReadableStream & {
  setRawMode?: (isRaw: boolean) => unknown;
  readableEnded?: boolean;
  unshift(rest: Uint8Array): void;
};

/** The keyboard that stdin is. Only a terminal is asked; see `canAsk`. */
function keyboardOf({ stdin }: Pick<CliEnvironment, 'stdin'>): Keyboard {
  if (!isKeyboard(stdin)) throw new TypeError('nothing can be typed at this stdin');
  return stdin;
}

function isKeyboard(stdin: object): stdin is Keyboard {
  return 'on' in stdin && 'off' in stdin && 'unshift' in stdin;
}

/** Waits until `take`, which reads each piece that is typed, returns an answer; `undefined` if the input ended before. */
async function nextTyped(
  cli: CliEnvironment,
  take: (typed: Buffer) => string | undefined,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const keyboard = keyboardOf(cli);
  const stopped = AbortSignal.any([cli.signal, ...(signal ? [signal] : [])]);
  stopped.throwIfAborted();
  if (keyboard.readableEnded) return undefined;
  let end = (): void => {};
  try {
    const taken = await new Promise<string | undefined>((resolve) => {
      const onData = (chunk: Buffer | string): void => {
        const answer = take(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
        if (answer !== undefined) resolve(answer);
      };
      const onEnd = (): void => resolve(undefined);
      const onAbort = (): void => resolve(undefined);
      end = () => {
        keyboard.off('data', onData).off('end', onEnd);
        stopped.removeEventListener('abort', onAbort);
      };
      keyboard.on('data', onData).on('end', onEnd);
      stopped.addEventListener('abort', onAbort, { once: true });
      keyboard.resume();
    });
    stopped.throwIfAborted();
    return taken;
  } finally {
    end();
    keyboard.pause();
  }
}

const NEWLINE = 0x0a;

/** Asks a question that one line answers: '' without more input. What is typed beyond it waits for the next question. */
export async function askLine(cli: CliEnvironment, question: string, signal?: AbortSignal): Promise<string> {
  cli.stderr.write(`\n${harmless(question).trim()} `);
  let typed = Buffer.alloc(0);
  let rest = Buffer.alloc(0);
  const take = (chunk: Buffer): string | undefined => {
    typed = Buffer.concat([typed, chunk]);
    const end = typed.indexOf(NEWLINE);
    if (end === -1) return undefined;
    rest = typed.subarray(end + 1);
    return typed.subarray(0, end).toString().replace(/\r$/u, '');
  };
  const line = await nextTyped(cli, take, signal).catch((error: unknown) => {
    // What is told next begins a line of its own.
    cli.stderr.write('\n');
    throw error;
  });
  if (rest.length > 0) keyboardOf(cli).unshift(rest);
  if (line === undefined) cli.stderr.write('\n');
  return line ?? '';
}

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
/** Keys that were typed earlier arrive at once. The rest of the time is for a busy machine. */
const TYPED_BEFORE_MS = 50;

/**
 * Asks a question that one of `keys`, in lower case, answers without Enter: '' without more input. Other keys do nothing;
 * Ctrl-C stops the command as ever.
 */
export async function askKey(
  cli: CliEnvironment,
  question: string,
  keys: string,
  signal?: AbortSignal,
): Promise<string> {
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

async function forgetTyped(cli: CliEnvironment, signal?: AbortSignal): Promise<void> {
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
