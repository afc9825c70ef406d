import { BrokenPackedRefs, type RefDamage } from '../git/format/ref-errors.ts';
import type { Repository } from '../git/repository.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../thread/thread-id.ts';
import { WORKFLOWS_PREFIX } from '../workflow/registry/workflow-refs.ts';

/** All prefixes of uwf's refs. */
export const PREFIXES: readonly string[] = [ACTIVE_PREFIX, HISTORY_PREFIX, WORKFLOWS_PREFIX, 'refs/uwf/'];

/** Lists the damage of uwf's refs, each once. */
export async function listDamage(repository: Repository): Promise<RefDamage[]> {
  const found = new Map<string, RefDamage>();
  const damaged = (damage: RefDamage): void => {
    if (damage instanceof BrokenPackedRefs || PREFIXES.some((prefix) => damage.ref.startsWith(prefix))) {
      found.set(damage.ref, damage);
    }
  };
  // Lists all refs, because a damaged line of packed-refs may have been any of them.
  await repository.refs.list('refs/', { damaged });
  return [...found.values()];
}
