import type { JsonObject } from '../json.ts';

/** The `$status` of a step's meta; null where it has none. */
export function statusOf(meta: JsonObject): string | null {
  return typeof meta['$status'] === 'string' ? meta['$status'] : null;
}
