import { lstatSync, statSync } from 'node:fs';
import type { BigIntStats, Stats } from 'node:fs';
import { isNotThere } from '../format/object-errors.ts';
import { orElse } from '../../or-else.ts';

/** The stats of a file, links followed; `undefined` if there is none, also where a file is in place of one of its folders. */
export function findStats(path: string): Stats | undefined {
  return orElse(() => statSync(path, { throwIfNoEntry: false }), undefined, isNotThere);
}

/** As {@link findStats} of the file itself, which may be a link. */
export function findOwnStats(path: string): BigIntStats | undefined {
  return orElse(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }), undefined, isNotThere);
}
