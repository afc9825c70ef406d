import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { messageOf, UwfError } from '../../errors.ts';
import { errnoOf, isShortOfFiles, TooManyOpenFiles } from '../../git/format/errors.ts';
import { isExecutable } from '../../git/repository/git-directory.ts';
import { AgentBroken, AgentMissing } from '../agent-errors.ts';

/** A started program: the child, and the id of the process group that it leads. */
export type StartedProgram = { child: ChildProcessByStdio<Writable, Readable, Readable>; pgid: number };

/** What to start. `argv[0]` without a slash is looked for in `env.PATH`. */
export type ProgramStart = {
  argv: readonly [string, ...string[]];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** What `argv` is called in the agent's configuration, where it has another name. */
  argvKey?: string;
};

/** The folder that an agent is to work in is not there. */
export class WorkingFolderMissing extends UwfError {
  constructor(folder: string, cause: unknown) {
    super(`the working folder '${folder}' is not there`, {
      code: 'working-folder-missing',
      kind: 'environment',
      hint: "make the folder, or correct 'cwd' of the role",
      cause,
      facts: { folder },
    });
  }
}

/**
 * Starts a program without a shell, as the leader of a new session and process group.
 * @throws {AgentMissing} when the program is not there or may not be executed
 * @throws {WorkingFolderMissing} when `cwd` is not a folder
 * @throws {AgentBroken} when the system refuses for another reason
 */
export async function startProgram(start: ProgramStart): Promise<StartedProgram> {
  const [program, ...args] = start.argv;
  try {
    const child = spawn(program, args, {
      cwd: start.cwd,
      env: start.env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    if (child.pid !== undefined) {
      // A program may end, or close its input, before it has read all: the error EPIPE is ignored.
      child.stdin.on('error', () => {});
      return { child, pgid: child.pid };
    }
    const [cause]: unknown[] = await once(child, 'error');
    throw cause;
  } catch (error) {
    throw await startError(error, start);
  }
}

/** Lets go of a program's input and outputs, which another process may still hold open. */
export function closeStreams(child: StartedProgram['child']): void {
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
}

async function startError(
  cause: unknown,
  { argv: [program], cwd, env, argvKey = 'argv' }: ProgramStart,
): Promise<UwfError> {
  if (isShortOfFiles(cause)) return new TooManyOpenFiles(cause);
  const code = errnoOf(cause);
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    // The system says the same of a program and of a folder that is not there.
    const folder = await stat(cwd).catch(() => undefined);
    if (!folder?.isDirectory()) return new WorkingFolderMissing(cwd, cause);
    return programNotFound(program, { cwd, path: env['PATH'], argvKey, cause });
  }
  if (code === 'EACCES' || code === 'ENOEXEC') {
    return new AgentMissing(`the program '${program}' may not be executed`, {
      subject: program,
      hint: `make it executable (chmod +x), or correct '${argvKey}' of the agent in .uwf/config.yaml`,
      cause,
    });
  }
  return new AgentBroken(`the program '${program}' could not be started: ${messageOf(cause)}`, {
    hint: `correct '${argvKey}' or 'env' of the agent in .uwf/config.yaml`,
    cause,
  });
}

/** There is no such program; where it was looked for is part of the hint. */
export function programNotFound(
  program: string,
  {
    cwd,
    path = 'not set',
    argvKey = 'argv',
    cause,
  }: { cwd: string; path?: string | undefined; argvKey?: string; cause?: unknown },
): AgentMissing {
  const where = program.includes('/') ? `relative paths start at ${cwd}` : `PATH is ${path}`;
  return new AgentMissing(`the program '${program}' was not found`, {
    subject: program,
    hint: `install it, or correct '${argvKey}' of the agent in .uwf/config.yaml; ${where}`,
    cause,
  });
}

/** Finds the program that would be started, as the system does: with a slash in its name in `folder`, else on `path`. */
export function findProgram(program: string, folder: string, path: string): string | undefined {
  const places = program.includes('/')
    ? [resolve(folder, program)]
    : path.split(delimiter).map((place) => resolve(folder, place, program));
  return places.find(isExecutable);
}

/** Variables that a program needs to work at all, and that hold no secret. */
const HARMLESS =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|NO_COLOR|TZ|TMPDIR|TEMP|TMP|CI|PWD|EDITOR|XDG_[A-Z_]+|UWF_[A-Z_]+|SystemRoot|PATHEXT|COMSPEC)$/u;
/**
 * Names of variables that look as if a secret were in them. The pattern is wide, because a program only lacks a variable where
 * it is wrong. The one in `known-secrets.ts` is narrow, because the values that it finds are taken out of all texts.
 */
const SECRET = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE/iu;

/**
 * The part of an environment that an agent's own programs see: what they need to work, and what a person passes on by
 * name. A key that lies in the environment of uwf is not in it, whatever its name (`UWF_MODEL_KEY`).
 * @param kept the name of a variable that holds a key, however harmless it sounds
 */
export function scrubbedEnvironment(
  env: Readonly<Record<string, string>>,
  passed: readonly string[] = [],
  kept?: string,
): Record<string, string> {
  const isPassed = (name: string): boolean =>
    passed.includes(name) || (HARMLESS.test(name) && !looksSecret(name) && name !== kept);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isPassed(name)));
}

export function looksSecret(name: string): boolean {
  return SECRET.test(name);
}

/** Keeps the last bytes that a program writes. */
export class OutputTail {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Cutting now and then, not at each chunk, keeps the work in proportion to what is written.
    if (this.#bytes > 2 * this.#maxBytes + 65_536) this.#cut();
  }

  /** True once more was written than is kept. */
  get isCut(): boolean {
    return this.#isCut || this.#bytes > this.#maxBytes;
  }

  /** What is kept, as UTF-8, from the start of a character on. */
  text(): string {
    this.#cut();
    const all = Buffer.concat(this.#chunks);
    const start = this.#isCut ? all.findIndex((byte) => (byte & 0xc0) !== 0x80) : 0;
    return new StringDecoder('utf8').write(all.subarray(Math.max(start, 0)));
  }

  /**
   * What is kept, without white space at its ends. A word torn by the bound is left out: the rest of a secret is not
   * recognised as one.
   */
  words(): string {
    const text = this.text();
    return (this.#isCut ? text.replace(/^\S{1,1024}/u, '') : text).trim();
  }

  #cut(): void {
    if (this.#bytes <= this.#maxBytes) return;
    const kept = Buffer.concat(this.#chunks).subarray(this.#bytes - this.#maxBytes);
    // A copy, so that a short tail does not keep whole chunks in memory.
    this.#chunks = [Buffer.from(kept)];
    this.#bytes = kept.length;
    this.#isCut = true;
  }
}

const NEWLINE = 0x0a;

/** A program wrote more than it may. */
export class OutputFlood extends Error {}

/**
 * Reads a stream line by line, without the ends of the lines. The last line needs no end.
 * @param maxBytes of one line
 * @param onBytes told how many bytes have arrived; what it throws ends the reading
 * @throws {OutputFlood} at a longer line
 */
export async function* readOutputLines(
  stream: AsyncIterable<string | Uint8Array>,
  maxBytes: number,
  onBytes: (count: number) => void = () => {},
): AsyncGenerator<Buffer, void> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const piece of stream) {
    const chunk = Buffer.isBuffer(piece) ? piece : Buffer.from(piece);
    onBytes(chunk.length);
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]);
      [parts, size, start] = [[], 0, end + 1];
    }
    size += chunk.length - start;
    if (size > maxBytes) throw new OutputFlood(`a single message of more than ${maxBytes} bytes`);
    parts.push(chunk.subarray(start));
  }
  if (size > 0) yield Buffer.concat(parts);
}

/** The longest word that is left out with what was cut, in UTF-16 code units: longer than any token. */
const MAX_WORD = 4096;

/** How much of an agent's error is kept in a message. */
export const MAX_SAID_CHARACTERS = 4096;

/** Shortens a text to its beginning and its end, and says so in the middle. */
export function headAndTail(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const kept = new HeadAndTail(maxCharacters);
  kept.add(text);
  return kept.text();
}

/** Keeps the first and the last characters of a program's output. */
export class HeadAndTail {
  readonly #half: number;
  #head = '';
  #tail = '';
  #size = 0;

  constructor(maxCharacters: number) {
    this.#half = Math.floor(maxCharacters / 2);
  }

  add(text: string): void {
    this.#size += text.length;
    const room = this.#half - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    const rest = room > 0 ? text.slice(room) : text;
    if (rest === '') return;
    this.#tail += rest.slice(-this.#half);
    // Not each time: of a program that writes byte by byte the whole tail would be copied for each.
    if (this.#tail.length > 2 * this.#half) this.#tail = this.#tail.slice(-this.#half);
  }

  text(): string {
    const tail = this.#half === 0 ? '' : this.#tail.slice(-this.#half);
    const left = this.#size - this.#head.length - tail.length;
    return left === 0 ? this.#head + tail : joined(this.#head, left, tail);
  }
}

/**
 * Leaves out the words that the cut has torn as well: half of a secret is not known as one, and would be kept.
 * The words are at most a quarter of what is kept, so that a text without spaces still has a beginning and an end.
 */
function joined(head: string, left: number, tail: string): string {
  const headEnd = head.length - Math.min(/\S*$/u.exec(head.slice(-MAX_WORD))?.[0].length ?? 0, head.length >> 2);
  const tailStart = Math.min(/^\S*/u.exec(tail.slice(0, MAX_WORD))?.[0].length ?? 0, tail.length >> 2);
  const all = left + head.length - headEnd + tailStart;
  return `${whole(head.slice(0, headEnd))}\n[… ${all} characters were left out here …]\n${whole(tail.slice(tailStart))}`;
}

/** Without the half of a character that a cut leaves at either end. */
function whole(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/gu, '');
}

/** The beginning of a text, no longer than `maxCharacters`, without half a character at its end. */
export function cutText(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : text.slice(0, maxCharacters).replace(/[\uD800-\uDBFF]$/u, '');
}
