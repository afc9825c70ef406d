import type { RoleSeen } from '../../expression/evaluation/scope.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';
import { CorruptThread } from '../thread-errors.ts';
import { findStepByNumber } from './find-step.ts';
import type { ThreadPlace } from './thread-state.ts';

/** Reads what `$visits` answers of each role that has had a turn, and where rules look at it, what `$first` and `$last` answer. */
export async function readRoles(
  repository: Repository,
  { head, tally }: { head: { id: ObjectId } } & Pick<ThreadPlace, 'tally'>,
  hasEnds: boolean,
): Promise<Map<string, RoleSeen>> {
  const metaOf = async (number: number | null): Promise<JsonObject | undefined> => {
    if (number === null) return undefined;
    const step = await findStepByNumber(repository, head.id, number);
    if (step === undefined) throw new CorruptThread(head.id, `it has no step ${number}`);
    return step.node.meta;
  };
  const roles = new Map<string, RoleSeen>();
  for (const [role, { visits, first, last }] of tally.roles) {
    if (visits === 0) continue;
    roles.set(role, hasEnds ? { visits, first: await metaOf(first), last: await metaOf(last) } : { visits });
  }
  return roles;
}
