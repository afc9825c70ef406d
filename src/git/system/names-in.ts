import { readdirSync } from 'node:fs';
import { errnoOf } from '../format/object-errors.ts';

/** The names in a folder, in no order; none where there is no folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}
