import { setFlagsFromString } from 'node:v8';

const COMPACT = ['--optimize-for-size', '--semi-space-growth-factor=1'];
const SMALL = [...COMPACT, '--no-opt', '--no-sparkplug'];
const FAST = ['--no-optimize-for-size', '--semi-space-growth-factor=2', '--opt', '--sparkplug', '--no-gc-global'];

let areChanged = false;

function setFlags(flags: readonly string[]): void {
  areChanged = true;
  for (const flag of flags) setFlagsFromString(flag);
}

/** Tells whether this process has other flags than it was started with: V8 would refuse the code that it compiled so far. */
export function hasOtherFlags(): boolean {
  return areChanged;
}

/**
 * Has V8 save memory in this process: new objects get 1 MB, and nothing is compiled to machine code.
 *
 * V8's defaults are for a program that has much to do; a worker waits for weeks. Where it has fetched 1,000 active threads and finds
 * nothing to do, it takes 60 MiB with all of this, and 87 to 124 MiB without.
 * @param isIdle has each collection go through the whole heap, too: right while only looks at the remote leave garbage
 * Source: V8's flag-definitions.h; `node --v8-options`.
 */
export function saveMemory(isIdle: boolean): void {
  setFlags(isIdle ? [...SMALL, '--gc-global'] : SMALL);
}

/** Has V8 save time again: a turn reads long threads and evaluates rules. */
export function saveTime(): void {
  setFlags(FAST);
}

/** Has V8 collect more often: to verify 10,000 steps takes 127 MB in place of 184, and a tenth more CPU time. */
export function collectOften(): void {
  setFlags(COMPACT);
}
