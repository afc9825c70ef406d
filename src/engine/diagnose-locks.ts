import { findLocks, type FoundLock } from '../git/disk/find-locks.ts';
import { LOCK_MS } from '../git/disk/lock-records.ts';
import { KEEP_MS } from '../git/disk/pack-keep.ts';
import type { RepositoryLocation } from '../git/repository.ts';
import type { Diagnosis } from './diagnosis.ts';

/** Names the locks on refs and the keeps of packs whose process is not at work on this machine. */
export function diagnoseLocks(location: RepositoryLocation): Diagnosis[] {
  return findLocks(location).flatMap((found) => (found.holder?.isAlive === true ? [] : [ofLock(found)]));
}

function ofLock({ path, kind, holder, ageMs }: FoundLock): Diagnosis {
  const code = kind === 'lock' ? 'locked' : 'pack-kept';
  const age = `${Math.max(0, Math.round(ageMs / 1000))} s ago`;
  const what = kind === 'lock' ? 'keeps a ref from being changed' : 'keeps a pack from being folded';
  if (holder === undefined) {
    return {
      level: kind === 'lock' ? 'problem' : 'warning',
      code,
      message: `${path} ${what}; it is git's, made ${age}`,
      hint: 'if no git is at work in this repository, remove it; uwf never does',
    };
  }
  const { owner, isAlive } = holder;
  const leftMs = isAlive === false ? 0 : (kind === 'lock' ? LOCK_MS : KEEP_MS) - ageMs;
  const when = leftMs > 0 ? `in ${Math.ceil(leftMs / 1000)} s, unless its process works` : 'now';
  return {
    level: 'warning',
    code,
    message: `${path} ${what}; process ${owner.pid} of uwf on ${owner.host}, which ${isAlive === false ? 'has ended' : 'cannot be seen from here'}, made it ${age}`,
    hint: kind === 'lock' ? `the next command that changes a ref removes it ${when}` : `'uwf gc' removes it ${when}`,
  };
}
