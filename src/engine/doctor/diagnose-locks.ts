import { findLocks, type FoundLock } from '../../git/maintenance/repack.ts';
import { KEEP_MS } from '../../git/stores/disk/pack-writer.ts';
import type { RepositoryLocation } from '../../git/repository.ts';
import { problem, warning, type Diagnosis } from './diagnosis.ts';

/** Names the locks on refs and the keeps of packs whose process is not at work on this machine. */
export function diagnoseLocks(location: RepositoryLocation): Diagnosis[] {
  return findLocks(location).flatMap((found) => (found.holder?.isAlive === true ? [] : [ofLock(found)]));
}

function ofLock({ path, kind, holder, ageMs }: FoundLock): Diagnosis {
  const age = `${Math.max(0, Math.round(ageMs / 1000))} s ago`;
  const hint = 'if no git is at work in this repository, remove it; uwf never does';
  if (kind === 'lock') return problem('locked', `${path} keeps a ref from being changed; git made it ${age}`, hint);
  const what = `${path} keeps a pack from being folded`;
  if (holder === undefined) return warning('pack-kept', `${what}; it is git's, made ${age}`, hint);
  const { owner, isAlive } = holder;
  const leftMs = isAlive === false ? 0 : KEEP_MS - ageMs;
  const when = leftMs > 0 ? `in ${Math.ceil(leftMs / 1000)} s, unless its process works` : 'now';
  const fate = isAlive === false ? 'has ended' : 'cannot be seen from here';
  const message = `${what}; process ${owner.pid} of uwf on ${owner.host}, which ${fate}, made it ${age}`;
  return warning('pack-kept', message, `'uwf gc' removes it ${when}`);
}
