import { closeSync } from 'node:fs';

/** Works with an open file, and closes it whatever comes of that. */
export function whileOpen<T>(descriptor: number, work: (descriptor: number) => T): T {
  try {
    return work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
