import type { JsonObject, JsonValue } from '../../json.ts';
import { branchesInMeta, type KeyedBranch } from '../../schema/built-in/block-meta.ts';

/** The number of branches whose statuses a person sees, and whose metas an agent gets. */
const MAX_READ = 50;

/**
 * The meta of a step for a person. The meta of a block's step, which has the metas of all branches, is reduced to the keys and
 * statuses of the first branches. Any other meta is returned unchanged.
 */
export function readableMeta(meta: JsonObject): JsonObject {
  return withBranches(meta, ({ key, status }) => `${key}: ${typeof status === 'string' ? status : 'no status'}`);
}

/** The meta of a step for an agent: for a block's step, only those of the first branches. The step's text has all ends. */
export function toldMeta(meta: JsonObject): JsonObject {
  return withBranches(meta, ({ key, meta: own = null }) => ({ key, meta: own }));
}

function withBranches(meta: JsonObject, read: (branch: KeyedBranch) => JsonValue): JsonObject {
  const branches = branchesInMeta(meta);
  if (branches === undefined) return meta;
  const { order: _order, branches: _branches, ...rest } = meta;
  const left = branches.length - MAX_READ;
  const more = left > 0 ? [`… and ${left} more`] : [];
  return { ...rest, branches: [...branches.slice(0, MAX_READ).map(read), ...more] };
}
