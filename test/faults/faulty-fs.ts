import * as fs from 'node:fs';

export * from 'node:fs';

/**
 * Stands in for `node:fs` in a script that is run with faults.
 *
 * Counts the calls that change the disk, a write twice: before it and in the middle of it. At number `UWF_FAULT_AT` the
 * process is killed (`UWF_FAULT=kill`), or the call fails with the error code in `UWF_FAULT`. `UWF_FAULT_COUNT` names a
 * file that the number of calls goes to.
 */
const faultAt = Number(process.env['UWF_FAULT_AT'] ?? 0);
const fault = process.env['UWF_FAULT'] ?? 'kill';
const countFile = process.env['UWF_FAULT_COUNT'];
let calls = 0;

if (countFile !== undefined) process.once('exit', () => fs.writeFileSync(countFile, String(calls)));

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // The signal takes effect before the next instruction of JavaScript; this is for the compiler.
  throw new Error('not reached');
}

function beforeCall(name: string): void {
  calls += 1;
  if (calls !== faultAt) return;
  if (fault === 'kill') die();
  throw Object.assign(new Error(`${fault}: injected, ${name}`), { code: fault });
}

function counted<Arguments extends unknown[], Result>(
  name: string,
  call: (...args: Arguments) => Result,
): (...args: Arguments) => Result {
  return (...args) => {
    beforeCall(name);
    return call(...args);
  };
}

/** Whether a file may be changed, or made, by what it is opened for. */
function opensToWrite(flags: string | number): boolean {
  const { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC } = fs.constants;
  return typeof flags === 'number' ? (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) !== 0 : flags !== 'r';
}

export function openSync(...args: Parameters<typeof fs.openSync>): number {
  if (opensToWrite(args[1])) beforeCall('open');
  return fs.openSync(...args);
}

export function writeSync(descriptor: number, bytes: Uint8Array | string, offset?: number): number {
  const whole = typeof bytes === 'string' ? Buffer.from(bytes) : bytes.subarray(offset ?? 0);
  const half = whole.length >> 1;
  beforeCall('write');
  fs.writeSync(descriptor, whole.subarray(0, half));
  beforeCall('write');
  return half + fs.writeSync(descriptor, whole.subarray(half));
}

export const fsyncSync: typeof fs.fsyncSync = counted('fsync', fs.fsyncSync);
export const linkSync: typeof fs.linkSync = counted('link', fs.linkSync);
export const renameSync: typeof fs.renameSync = counted('rename', fs.renameSync);

/** Freeing space works on a full disk, so that removing is a place to be killed but not to fail. */
export function unlinkSync(path: fs.PathLike): void {
  if (fault === 'kill') beforeCall('unlink');
  fs.unlinkSync(path);
}

export function rmdirSync(path: fs.PathLike): void {
  if (fault === 'kill') beforeCall('rmdir');
  fs.rmdirSync(path);
}

export function mkdirSync(path: fs.PathLike, options: { recursive: true }): string | undefined {
  beforeCall('mkdir');
  return fs.mkdirSync(path, options);
}
