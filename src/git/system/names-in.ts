import { readdirSync } from 'node:fs';
import { isNotThere } from '../format/object-errors.ts';
import { orElse } from '../../or-else.ts';

/** The names in a folder, in no order; none where there is no folder. */
export function namesIn(folder: string): string[] {
  return orElse(() => readdirSync(folder), [], isNotThere);
}
