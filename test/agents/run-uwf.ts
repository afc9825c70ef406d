import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import type { JsonObject } from '../../src/json.ts';

const program = join(import.meta.dirname, '../../bin/uwf.js');

/** What a command came to; `lines` are those of standard output, parsed. */
export type UwfOutcome = { code: number | null; lines: JsonObject[]; stderr: string };

/**
 * How the built `uwf` is started, as a person does it. Its environment has a key in it, which is to reach no agent.
 */
export function uwfAsSpawned(home: string, args: readonly string[]): { argv: string[]; env: Record<string, string> } {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    LANG: 'C.UTF-8',
    GITHUB_TOKEN: 'ghp_of_nobody',
    UWF_TRUST: 'all',
  };
  return { argv: [process.execPath, program, ...args], env };
}

/** Runs the built `uwf` in a folder. */
export async function runUwf(cwd: string, home: string, args: readonly string[]): Promise<UwfOutcome> {
  const { argv, env } = uwfAsSpawned(home, args);
  const child = spawn(process.execPath, argv.slice(1), {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  const lines = stdout.split('\n').filter((line) => line.trim() !== '');
  // With `--json` each line is an object.
  return { code, stderr, lines: lines.map((line) => JSON.parse(line) as JsonObject) };
}
