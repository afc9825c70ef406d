import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

type Call =
  | 'linkSync'
  | 'renameSync'
  | 'rmSync'
  | 'unlinkSync'
  | 'rmdirSync'
  | 'readdirSync'
  | 'writeFileSync'
  | 'mkdirSync'
  | 'openSync'
  | 'closeSync'
  | 'copyFileSync';

export type Failure = {
  /** The error's code: `ENOSPC`. */
  code: string;
  /** Which calls fail, by the last path among the arguments; default: all. */
  where?: (path: string) => boolean;
  /** How many calls fail; default: all. */
  times?: number;
  /** True for a call that does its work before it fails, as a write does that fills the disk. */
  isDone?: boolean;
};

/**
 * Lets calls of `node:fs` fail until the test ends: what a full disk, another process or another file system does.
 */
export function failFs(call: Call, { code, where = () => true, times = Infinity, isDone = false }: Failure): void {
  const original = fs[call] as (...args: unknown[]) => unknown;
  let left = times;
  const failing = (...args: unknown[]): unknown => {
    const path = args.slice(0, 2).findLast((arg) => typeof arg === 'string' && arg.startsWith('/'));
    if (left <= 0 || !where(String(path))) return original(...args);
    left -= 1;
    if (isDone) original(...args);
    throw Object.assign(new Error(`${code}: ${call}`), { code, syscall: call });
  };
  const replace = (value: unknown): void => {
    Object.assign(fs, { [call]: value });
    syncBuiltinESMExports();
  };
  replace(failing);
  onTestFinished(() => replace(original));
}
