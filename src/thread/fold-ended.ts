import { RefMoved } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import type { ThreadPointer } from './find-thread.ts';
import { activeRef } from './thread-refs.ts';

/**
 * Finishes an ending that a crash cut in two: removes the active ref of a thread that has a history ref.
 *
 * An active ref that is not behind the end (somebody appended to it, or pushed it back) is kept as a fork first.
 * Does nothing for a thread that has one ref.
 */
export async function foldEnded(repository: Repository, ended: ThreadPointer): Promise<void> {
  if (!ended.isHistory) return;
  const ref = activeRef(ended.id);
  const active = await repository.refs.read(ref);
  if (active === undefined) return;
  // Rare, and so loaded only now.
  const [{ readChain }, { keepAsFork }] = await Promise.all([import('./chain.ts'), import('./move-thread.ts')]);
  let isBehind = false;
  for await (const { id } of readChain(repository, ended.head)) {
    isBehind = id === active;
    if (isBehind) break;
  }
  if (!isBehind) await keepAsFork(repository, ended.id, active);
  try {
    await repository.refs.update([{ name: ref, expected: active, value: null }]);
  } catch (error) {
    // Somebody else folded it, or wrote to it: then the next command sees what there is to do.
    if (!(error instanceof RefMoved)) throw error;
  }
}
