import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readCommit } from '../../git/stores/read.ts';
import { eachOnce } from '../each-once.ts';
import type { SecretPlace, SecretScan } from '../../thread/secret-scan.ts';
import { NodeCache } from '../../verify/chain/known-nodes.ts';
import { readFiles } from '../../verify/commit/read-files.ts';

/**
 * Checks what a push would send of a workflow's registry, with the checks of a fetch.
 * @param before the commit that the push expects at the remote
 * @throws {UwfError} of kind `data` if something cannot be read
 */
export async function checkRegistration(
  repository: Repository,
  { workflow, head, before }: { workflow: string; head: ObjectId; before: ObjectId | null },
  scan: SecretScan | undefined,
): Promise<{ fault?: string; secrets: SecretPlace[] }> {
  // Few pushes have a new version.
  const [{ checkRegistry }, { INCOMING_LIMITS, boundedObjects }, { TimeBudget }] = await Promise.all([
    import('../../verify/incoming/check-registrations.ts'),
    import('../../verify/incoming/incoming-limits.ts'),
    import('../../verify/replay/time-budget.ts'),
  ]);
  const bounded: Repository = { ...repository, objects: boundedObjects(repository.objects, INCOMING_LIMITS) };
  const cache = new NodeCache(bounded);
  const isVerified = (id: ObjectId): Promise<boolean> => Promise.resolve(id === before);
  const check = { budget: new TimeBudget(), cache, isVerified };
  const fault = await checkRegistry(check, workflow, head);
  if (fault !== undefined) return { fault, secrets: [] };
  const secrets: SecretPlace[] = [];
  const passed = new Set(before === null ? [] : [before]);
  const waiting = scan === undefined ? [] : [head];
  for (const id of eachOnce(waiting, passed)) {
    const { tree, parents } = await readCommit(bounded.objects, id);
    const { index } = await readFiles(bounded, tree, () => {});
    const nodes = await Promise.all(index.map(async (entry) => [entry.path, await cache.read(entry)] as const));
    secrets.push(...((await scan?.scanCommit({ id, tree, step: null, nodes, code: [] })) ?? []));
    waiting.push(...parents);
  }
  return { secrets };
}
