import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';

/** A branch in the meta of a block's step, with its key. */
export type KeyedBranch = JsonObject & { key: string };

/**
 * The branches in the meta of a block's step, each with its key, in the order in which they were taken in: what a rule after the
 * block sees as `$branches`.
 * @returns `undefined` if the meta has not the form that a block's has
 */
export function branchesInMeta(meta: JsonObject | undefined): KeyedBranch[] | undefined {
  const order = meta?.['order'];
  const branches = meta?.['branches'];
  if (!Array.isArray(order) || !isJsonObject(branches)) return undefined;
  const found: KeyedBranch[] = [];
  for (const key of order) {
    const branch = branchOf(branches, key);
    if (branch === undefined || typeof key !== 'string') return undefined;
    found.push({ ...branch, key });
  }
  return found;
}

function branchOf(branches: JsonObject, key: JsonValue): JsonObject | undefined {
  if (typeof key !== 'string' || !Object.hasOwn(branches, key)) return undefined;
  const branch = branches[key];
  return isJsonObject(branch) && 'status' in branch && 'meta' in branch && 'end' in branch ? branch : undefined;
}
