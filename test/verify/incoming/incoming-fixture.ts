import { ObjectTooLarge } from '../../../src/git/format/errors.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import type { RefName } from '../../../src/git/repository.ts';
import { checkIncoming, type CheckOptions, type IncomingTip } from '../../../src/verify/check-incoming.ts';
import { threadOfRef } from '../../../src/thread/thread-id.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';

/** A ref as a remote has it, and what it is taken for. */
export function tipOf(ref: string, id: ObjectId): IncomingTip {
  const thread = threadOfRef(ref as RefName);
  const workflow = ref.startsWith('refs/workflows/') ? ref.slice('refs/workflows/'.length) : undefined;
  return { ref, id, ...(thread && { thread }), ...(workflow !== undefined && { workflow }) };
}

/** All refs of a remote as tips. */
function tipsOf(remote: MapRepository): IncomingTip[] {
  return [...remote.refMap].filter(([name]) => !name.startsWith('refs/uwf/')).map(([name, id]) => tipOf(name, id));
}

/** What was read of a repository, object by object. */
export type Reads = Map<ObjectId, number>;

/** A view of two repositories as a fetch sees them: the objects of both, the refs of the first. */
export function viewOf(local: MapRepository, remote: MapRepository, reads: Reads = new Map()): MapRepository {
  const objectMap = new Map([...remote.objectMap, ...local.objectMap]);
  const view = createMapRepository(objectMap, local.refMap);
  const read = view.objects.read.bind(view.objects);
  return {
    ...view,
    stateDir: local.stateDir,
    objects: {
      ...view.objects,
      read: async (id, options) => {
        reads.set(id, (reads.get(id) ?? 0) + 1);
        const object = await read(id);
        const { maxBytes = Infinity } = options ?? {};
        if (object && object.data.byteLength > maxBytes) throw new ObjectTooLarge(id, object.data.byteLength, maxBytes);
        return object;
      },
    },
  };
}

/** Checks all refs of a remote, into a repository that has nothing unless one is given. */
export async function checkAll(
  remote: MapRepository,
  {
    local = createMapRepository(),
    tips = tipsOf(remote),
    reads,
    ...options
  }: CheckOptions & { local?: MapRepository; tips?: IncomingTip[]; reads?: Reads } = {},
): Promise<Map<string, string>> {
  return checkIncoming(local, viewOf(local, remote, reads), tips, options);
}

/** What is wrong with each unsound tip, by ref. */
export function refusals(faults: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(faults);
}
