import { describe, expect, test } from 'vitest';
import { CorruptObject, ObjectTooLarge } from '../../src/git/format/errors.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { boundedObjects, INCOMING_LIMITS, type IncomingLimits } from '../../src/verify/check-incoming.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { store } from './forge-commit.ts';
import { viewOf } from './incoming/incoming-fixture.ts';

const empty = createMapRepository();
const remote = createMapRepository();
const objectsWith = (limits: Partial<IncomingLimits>): ReturnType<typeof boundedObjects> =>
  boundedObjects(viewOf(empty, remote).objects, { ...INCOMING_LIMITS, ...limits });

const commitOf = (parents: number, message = 'x\n'): string =>
  `tree ${'a'.repeat(40)}\n${`parent ${'b'.repeat(40)}\n`.repeat(parents)}author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n${message}`;

describe('objects within limits', () => {
  test('are those of the store', async () => {
    const id = store(remote, 'blob', '{"a":[1,2]}');
    const objects = objectsWith({});
    expect(Buffer.from((await objects.read(id))!.data).toString()).toBe('{"a":[1,2]}');
    expect(objects.format).toBe('sha1');
    expect(await objects.has(id)).toBe(true);
    expect(await objects.has('c'.repeat(40) as ObjectId)).toBe(false);
    expect(await objects.read('c'.repeat(40) as ObjectId)).toBeUndefined();
    await objects.close();
  });

  test('cannot be written', async () => {
    await expect(objectsWith({}).write([])).rejects.toThrow('fetched objects are read only');
  });

  test('are no larger than allowed, nor than the reader asks for', async () => {
    const id = store(remote, 'blob', 'x'.repeat(100));
    expect(await objectsWith({ maxObjectBytes: 100 }).read(id)).toBeDefined();
    await expect(objectsWith({ maxObjectBytes: 99 }).read(id)).rejects.toBeInstanceOf(ObjectTooLarge);
    await expect(objectsWith({ maxObjectBytes: 100 }).read(id, { maxBytes: 99 })).rejects.toBeInstanceOf(
      ObjectTooLarge,
    );
    await expect(objectsWith({ maxObjectBytes: 99 }).read(id, { maxBytes: 100 })).rejects.toBeInstanceOf(
      ObjectTooLarge,
    );
  });

  test('are commits with as many bytes and parents as allowed', async () => {
    const id = store(remote, 'commit', commitOf(3));
    const bytes = commitOf(3).length;
    expect(await objectsWith({ maxCommitBytes: bytes, maxParents: 3 }).read(id)).toBeDefined();
    await expect(objectsWith({ maxCommitBytes: bytes - 1 }).read(id)).rejects.toThrow(
      `it has more than the ${bytes - 1} bytes of a commit`,
    );
    await expect(objectsWith({ maxParents: 2 }).read(id)).rejects.toThrow('it has more than 2 parents');
    await expect(objectsWith({ maxParents: 2 }).read(id)).rejects.toBeInstanceOf(CorruptObject);
    // The limits of JSON are for blobs.
    expect(await objectsWith({ maxJsonDepth: 0, maxJsonValues: 0 }).read(id)).toBeDefined();
  });

  test('are blobs as deep and with as many values as allowed', async () => {
    const id = store(remote, 'blob', '{"a":[[1,2],[3]]}');
    expect(await objectsWith({ maxJsonDepth: 3 }).read(id)).toBeDefined();
    await expect(objectsWith({ maxJsonDepth: 2 }).read(id)).rejects.toThrow('it is nested more than 2 deep');
    await expect(objectsWith({ maxJsonValues: 1 }).read(id)).rejects.toThrow('it has more than 1 values');
    const tree = store(remote, 'tree', '[[[[[');
    expect(await objectsWith({ maxJsonDepth: 1, maxCommitBytes: 1 }).read(tree)).toBeDefined();
  });
});

test('limits are far above what agents make', () => {
  expect(INCOMING_LIMITS).toEqual({
    maxObjectBytes: 16 * 1024 * 1024,
    maxCommitBytes: 1024 * 1024,
    maxJsonValues: 500_000,
    maxJsonDepth: 500,
    maxParents: 2_000,
    maxFileBytes: 32 * 1024 * 1024,
    maxFiles: 1_000_000,
    maxDepth: 100,
    maxCommits: 500_000,
    maxNodes: 1_000_000,
    maxCodeObjects: 2_000_000,
  });
});
