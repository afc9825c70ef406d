import { describe, expect, test } from 'vitest';
import type { Node } from '../../src/cas/node.ts';
import { ObjectMissing, ObjectTooLarge } from '../../src/git/format/errors.ts';
import { hashObject, type ObjectId, type ObjectType } from '../../src/git/format/object-id.ts';
import type { Repository } from '../../src/git/repository.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { assertPinned, WrongPin } from '../../src/schema/put.ts';
import { createMapRepository } from '../helpers/map-repository.ts';

const data = Buffer.from('text');
const oid = hashObject({ type: 'blob', data });
const sha256 = hashObject({ type: 'blob', data }, 'sha256');
const artifact = (kind: string, id: ObjectId = oid): Node => ({
  type: builtIn.artifact,
  payload: { kind, oid: id, title: 'x' },
});

/** A repository whose objects are read like this. */
function reading(read: Repository['objects']['read']): Repository {
  const repository = createMapRepository();
  return { ...repository, objects: { ...repository.objects, read } };
}

const holding = (type: ObjectType): Repository => reading(async () => ({ type, data }));

describe('an artifact', () => {
  test.each<ObjectType>(['blob', 'tree', 'commit'])('may pin a %s that is one', async (type) => {
    await expect(assertPinned(holding(type), artifact(type))).resolves.toBeUndefined();
  });

  test('may not pin an object of another kind', async () => {
    const refused = assertPinned(holding('blob'), artifact('tree'));
    await expect(refused).rejects.toThrow(WrongPin);
    await expect(refused).rejects.toMatchObject({
      code: 'wrong-pin',
      kind: 'data',
      message: `${oid} is a blob, not a tree`,
      oid,
    });
    await expect(assertPinned(holding('tag'), artifact('commit'))).rejects.toThrow(WrongPin);
  });

  test('may not pin an object that is not there', async () => {
    await expect(assertPinned(createMapRepository(), artifact('blob'))).rejects.toThrow(ObjectMissing);
  });

  test.each([oid, sha256])('may pin the blob that is written along with it: %s', async (id) => {
    const repository = createMapRepository();
    await expect(assertPinned(repository, artifact('blob', id), data)).resolves.toBeUndefined();
    await expect(assertPinned(repository, artifact('tree', id), data)).rejects.toThrow(WrongPin);
    await expect(assertPinned(repository, artifact('blob', id), Buffer.from('other'))).rejects.toThrow(ObjectMissing);
  });

  test('may pin an object that is too large to be anything but a blob', async () => {
    const limits: unknown[] = [];
    const repository = reading(async (id, options) => {
      limits.push(options?.maxBytes);
      throw new ObjectTooLarge(id, 2 ** 30, 2 ** 26);
    });
    await expect(assertPinned(repository, artifact('blob'))).resolves.toBeUndefined();
    await expect(assertPinned(repository, artifact('tree'))).rejects.toThrow(WrongPin);
    expect(limits).toEqual([2 ** 26, 2 ** 26]);
  });

  test('is refused where its object cannot be read', async () => {
    const broken = reading(async () => Promise.reject(new Error('disk')));
    await expect(assertPinned(broken, artifact('blob'))).rejects.toThrow('disk');
  });
});

test('other nodes pin nothing', async () => {
  const node = { type: builtIn.content, payload: { kind: 'blob', oid } };
  await expect(assertPinned(createMapRepository(), node)).resolves.toBeUndefined();
});
