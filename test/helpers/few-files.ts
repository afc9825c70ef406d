import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { devNull } from 'node:os';
import { onTestFinished } from 'vitest';

/**
 * Lets the null device be opened so many times until the test ends, as a time box does to find out whether there is room for
 * its watch. Returns what was opened, and what was closed.
 */
export function allowFiles(most: number, error: Error = new Error('no more')): { opened: number[]; closed: number[] } {
  const { openSync, closeSync } = fs;
  const opened: number[] = [];
  const closed: number[] = [];
  const replace = (calls: Partial<typeof fs>): void => {
    Object.assign(fs, calls);
    syncBuiltinESMExports();
  };
  replace({
    openSync: (...args) => {
      if (args[0] !== devNull) return openSync(...args);
      if (opened.length === most) throw error;
      opened.push(openSync(...args));
      return opened.at(-1)!;
    },
    closeSync: (descriptor) => {
      closed.push(descriptor);
      closeSync(descriptor);
    },
  });
  onTestFinished(() => replace({ openSync, closeSync }));
  return { opened, closed };
}
