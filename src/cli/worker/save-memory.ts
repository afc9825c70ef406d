import { setFlagsFromString } from 'node:v8';

/** New objects get 1 MB, nothing is compiled to machine code, and each collection goes through the whole heap. */
const SMALL = ['--optimize-for-size', '--semi-space-growth-factor=1', '--no-opt', '--no-sparkplug', '--gc-global'];
const FAST = ['--no-optimize-for-size', '--semi-space-growth-factor=2', '--opt', '--sparkplug', '--no-gc-global'];

/**
 * Has V8 save memory in this process. V8's defaults are for a program that has much to do; a worker waits for weeks. Idle, with
 * 1,000 active threads, it takes 58 MB instead of 72 (docs/performance.md).
 *
 * Source: V8's flag-definitions.h; `node --v8-options`.
 */
export function saveMemory(): void {
  for (const flag of SMALL) setFlagsFromString(flag);
}

/** Has V8 save time again: a turn reads long threads and evaluates rules. */
export function saveTime(): void {
  for (const flag of FAST) setFlagsFromString(flag);
}
