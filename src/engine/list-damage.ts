import { BrokenPackedRefs, type RefDamage } from '../git/ref-errors.ts';
import type { Repository } from '../git/repository.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../thread/thread-refs.ts';
import { WORKFLOWS_PREFIX } from '../workflow/workflow-refs.ts';

/** Every prefix under which uwf's refs are. */
export const PREFIXES: readonly string[] = [ACTIVE_PREFIX, HISTORY_PREFIX, WORKFLOWS_PREFIX, 'refs/uwf/'];

/** Reads all refs of uwf's for what is damaged, each thing once. */
export async function listDamage(repository: Repository): Promise<RefDamage[]> {
  const found = new Map<string, RefDamage>();
  const damaged = (damage: RefDamage): void => {
    if (damage instanceof BrokenPackedRefs || PREFIXES.some((prefix) => damage.ref.startsWith(prefix))) {
      found.set(damage.ref, damage);
    }
  };
  // All there are, for a line of packed-refs that is damaged may have been any.
  await repository.refs.list('refs/', { damaged });
  return [...found.values()];
}
