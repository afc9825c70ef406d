import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { isolatedGitEnvironment } from './temporary-repository.ts';

/** What a terminal showed, and how the command ended. */
export type TerminalResult = { code: number | null; shown: string };

/** Runs uwf at a pseudo-terminal. Each time the terminal shows `question`, the next of some keys is pressed. */
export async function atTerminal(
  dir: string,
  args: readonly string[],
  { question, keys, env = {} }: { question: string; keys: string; env?: Record<string, string> },
): Promise<TerminalResult> {
  const line = [process.execPath, join(packageRoot(), 'bin/uwf.js'), ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qfec', line, '/dev/null'], {
    cwd: dir,
    env: { ...isolatedGitEnvironment, TERM: 'xterm', NO_COLOR: '1', PAGER: 'cat', ...env },
  });
  let shown = '';
  let answered = 0;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    shown += chunk;
    const asked = shown.split(question).length - 1;
    for (; answered < asked; answered += 1) child.stdin.write(keys[answered] ?? '\u0004');
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, shown: shown.replaceAll('\r\n', '\n') };
}
