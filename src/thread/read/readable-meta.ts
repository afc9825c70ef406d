import type { JsonObject, JsonValue } from '../../json.ts';
import { branchesInMeta, type KeyedBranch } from '../../schema/built-in/block-meta.ts';

/** A person reads the statuses of as many branches, and an agent their metas. */
const MAX_READ = 50;

/**
 * The meta of a step for a person. That of a block's step, which holds the metas of all branches, is folded to their keys and
 * statuses, of many to those of the first; any other is as it is.
 */
export function readableMeta(meta: JsonObject): JsonObject {
  return withBranches(meta, ({ key, status }) => `${key}: ${typeof status === 'string' ? status : 'no status'}`);
}

/** The meta of a step for an agent: of a block's step, the metas of the first branches. Their ends are in the step's text. */
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
