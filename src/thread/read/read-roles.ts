import type { RoleSeen } from '../../expression/evaluation/scope.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';
import { readThreadCommit } from '../thread-commit.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { StepPlace, Tally } from './tally.ts';

/**
 * Reads what `$visits` answers of each role that has had a turn, and where rules look at it, what `$first` and `$last` answer.
 * @param known metas of steps by their commits; the function adds those that it reads
 */
export async function readRoles(
  repository: Repository,
  tally: Tally,
  hasEnds: boolean,
  known: Map<ObjectId, JsonObject> = new Map(),
): Promise<Map<string, RoleSeen>> {
  const metaOf = async (place: StepPlace | null): Promise<JsonObject | undefined> => {
    const meta = place === null ? undefined : known.get(place.commit);
    if (place === null || meta !== undefined) return meta;
    const commit = await readThreadCommit(repository, place.commit);
    if (commit.kind !== 'step') throw new CorruptThread(place.commit, 'it is no step');
    known.set(place.commit, commit.node.meta);
    return commit.node.meta;
  };
  const roles = new Map<string, RoleSeen>();
  for (const [role, { visits, first, last }] of tally.roles) {
    if (visits === 0) continue;
    roles.set(role, hasEnds ? { visits, first: await metaOf(first), last: await metaOf(last) } : { visits });
  }
  return roles;
}
