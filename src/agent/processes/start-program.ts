import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { messageOf, UwfError } from '../../errors.ts';
import { errnoOf, isShortOfFiles, TooManyOpenFiles } from '../../git/format/object-errors.ts';
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

/**
 * Finds the program that would be started, as the system does: with a slash in its name in `folder`, else on `path`.
 * @returns its absolute path; undefined where there is none that may be executed
 */
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
 * @param passed names of variables to pass on
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

/** Tells whether a variable's name says that its value is secret. */
export function looksSecret(name: string): boolean {
  return SECRET.test(name);
}
