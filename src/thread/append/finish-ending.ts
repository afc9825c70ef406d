import { RefMoved } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadPointer } from '../thread-refs.ts';
import { activeRef } from '../thread-refs.ts';
import { inPlaceOf } from '../../or-else.ts';

/**
 * Finishes an ending that a crash interrupted: deletes the active ref of a thread that has a history ref. Does nothing for a
 * thread with one ref.
 *
 * If the active ref is no ancestor of the end (another client appended to it, or pushed it back), a fork keeps it first.
 */
export async function foldEnded(repository: Repository, ended: ThreadPointer): Promise<void> {
  if (!ended.isHistory) return;
  const ref = activeRef(ended.id);
  const active = await repository.refs.read(ref);
  if (active === undefined) return;
  // Loaded only now, because this is rare.
  const [{ readChain }, { keepAsFork }] = await Promise.all([
    import('../read/read-chain.ts'),
    import('../lost-race/keep-as-fork.ts'),
  ]);
  let isBehind = false;
  for await (const { id } of readChain(repository, ended.head)) {
    isBehind = id === active;
    if (isBehind) break;
  }
  if (!isBehind) await keepAsFork(repository, ended.id, active);
  // If the ref has moved, another process did the same, or wrote to the ref. The next command deals with that.
  await repository.refs.update([{ name: ref, expected: active, value: null }]).catch(inPlaceOf(RefMoved, undefined));
}
