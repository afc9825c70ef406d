import { pinOf } from '../../cas/pins.ts';
import type { Node } from '../../cas/node.ts';
import { UwfError } from '../../errors.ts';
import { ObjectMissing, ObjectTooLarge } from '../../git/format/object-errors.ts';
import { formatOfId, hashObject, type ObjectId, type ObjectType } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';

/** An artifact gives a git object another type than it has. */
export class WrongPin extends UwfError {
  constructor(oid: ObjectId, said: string, actual: string) {
    super(`${oid} is a ${actual}, not a ${said}`, { code: 'wrong-pin', kind: 'data', facts: { oid } });
  }
}

/** Larger objects are taken for blobs: no commit or tree is this large. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Checks that what an artifact pins is in the repository, and is what the artifact says. Other nodes pass.
 *
 * @param blob what is about to be written along with it
 * @throws {ObjectMissing} {WrongPin}
 */
export async function assertPinned(
  { objects }: Pick<Repository, 'objects'>,
  node: Node,
  blob?: Uint8Array,
): Promise<void> {
  const pin = pinOf(node);
  if (pin === undefined) return;
  let actual: ObjectType | undefined;
  if (blob !== undefined && hashObject({ type: 'blob', data: blob }, formatOfId(pin.oid)) === pin.oid) actual = 'blob';
  else {
    try {
      actual = (await objects.read(pin.oid, { maxBytes: MAX_BYTES }))?.type;
    } catch (error) {
      if (!(error instanceof ObjectTooLarge)) throw error;
      actual = 'blob';
    }
  }
  if (actual === undefined) throw new ObjectMissing(pin.oid);
  if (actual !== pin.kind) throw new WrongPin(pin.oid, pin.kind, actual);
}
