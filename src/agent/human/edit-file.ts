import { spawn } from 'node:child_process';

/** From SIGTERM to SIGKILL for an editor when the turn is stopped. */
const GRACE_MS = 2_000;

/**
 * Opens a file in a person's editor, at the terminal that this process has, and waits until it is closed.
 *
 * The editor is a shell command as in git's `core.editor`: `code --wait`. Only one that needs a shell gets one. It stays
 * in the terminal's foreground group.
 * Resolves with true when it ended well, with false when it did not or could not be started.
 * @throws the signal's reason when that is aborted
 */
export async function editFile(
  editor: string,
  file: string,
  options: { cwd: string; env: Readonly<Record<string, string>>; signal: AbortSignal },
): Promise<boolean> {
  const { cwd, env, signal } = options;
  signal.throwIfAborted();
  const [program, ...args] = commandOf(editor, file);
  const child = spawn(program, args, { cwd, env, stdio: 'inherit' });
  let kill: NodeJS.Timeout | undefined;
  const stop = (): void => {
    child.kill('SIGTERM');
    kill = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const isWell = await new Promise<boolean>((resolve) => {
      child.once('error', () => resolve(false));
      child.once('exit', (code) => resolve(code === 0));
    });
    signal.throwIfAborted();
    return isWell;
  } finally {
    clearTimeout(kill);
    signal.removeEventListener('abort', stop);
  }
}

/** As in git, a shell is left out where nothing is left for it to do: a signal then reaches the editor itself. */
function commandOf(editor: string, file: string): [program: string, ...args: string[]] {
  const words = editor.trim().split(/\s+/u);
  const [program] = words;
  const needsShell = program === undefined || program === '' || /[|&;<>()$`\\"'*?[#~=%\n]/u.test(editor);
  return needsShell ? ['sh', '-c', `${editor} "$@"`, editor, file] : [program, ...words.slice(1), file];
}
