import { Patience } from '../engine/patience.ts';
import type { ObjectId } from '../git/object-id.ts';
import { readCommit } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import type { SecretScan } from '../thread/secrets/secret-scan.ts';
import { NodeCache } from '../thread/verify/known-nodes.ts';
import { readFiles } from '../thread/verify/read-files.ts';
import { boundedObjects } from './bounded-objects.ts';
import { CarriedObjects } from './carried-objects.ts';
import { Registrations } from './check-registrations.ts';
import { INCOMING_LIMITS } from './incoming-limits.ts';
import type { OutgoingVerdict } from './outgoing.ts';

/**
 * Judges what a push would send of a workflow's registry, as whoever fetches it does.
 * @param before where the push expects the remote to have it
 * @throws {UwfError} of kind `data` if something cannot be read
 */
export async function judgeRegistration(
  repository: Repository,
  { workflow, head, before }: { workflow: string; head: ObjectId; before: ObjectId | null },
  scan: SecretScan | undefined,
): Promise<OutgoingVerdict> {
  const bounded: Repository = { ...repository, objects: boundedObjects(repository.objects, INCOMING_LIMITS) };
  const nothing = { has: () => Promise.resolve(false) };
  const carried = new CarriedObjects(bounded.objects, nothing, INCOMING_LIMITS);
  const isThere = (id: ObjectId): Promise<boolean> => Promise.resolve(id === before);
  const fault = await new Registrations(bounded, carried, new Patience(), isThere).check(workflow, head);
  if (fault !== undefined || scan === undefined) return { ...(fault !== undefined && { fault }), secrets: [] };
  const secrets: OutgoingVerdict['secrets'] = [];
  const cache = new NodeCache(bounded);
  const passed = new Set(before === null ? [] : [before]);
  const waiting = [head];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (passed.has(id)) continue;
    passed.add(id);
    const { tree, parents } = await readCommit(bounded.objects, id);
    const { index } = await readFiles(bounded, tree, () => {});
    const nodes = await Promise.all(index.map(async (entry) => [entry.path, await cache.read(entry)] as const));
    secrets.push(...(await scan.scanCommit({ id, tree, step: null, nodes, code: [] })));
    waiting.push(...parents);
  }
  return { secrets };
}
