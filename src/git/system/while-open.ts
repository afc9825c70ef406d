import { closeSync } from 'node:fs';

/** Works with an open file, and closes it afterwards, also after an error. */
export function whileOpen<T>(descriptor: number, work: (descriptor: number) => T): T {
  try {
    return work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
