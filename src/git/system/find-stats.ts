import { lstatSync, statSync } from 'node:fs';
import type { BigIntStats, Stats } from 'node:fs';
import { errnoOf } from '../format/object-errors.ts';

/** The stats of a file, links followed; `undefined` if there is none, also where a file is in place of one of its folders. */
export function findStats(path: string): Stats | undefined {
  return ifThere(() => statSync(path, { throwIfNoEntry: false }));
}

/** As {@link findStats} of the file itself, which may be a link. */
export function findOwnStats(path: string): BigIntStats | undefined {
  return ifThere(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }));
}

function ifThere<T>(stat: () => T): T | undefined {
  try {
    return stat();
  } catch (error) {
    // `throwIfNoEntry` is about ENOENT only.
    if (errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}
