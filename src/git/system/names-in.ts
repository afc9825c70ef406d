import { readdirSync } from 'node:fs';
import { errnoOf } from '../format/object-errors.ts';
import { orElse } from '../../or-else.ts';

/** The names in a folder, in no order; none where there is no folder. */
export function namesIn(folder: string): string[] {
  const isNoFolder = (error: unknown): boolean => errnoOf(error) === 'ENOENT';
  return orElse(() => readdirSync(folder), [], isNoFolder);
}
