import { expect } from 'vitest';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { parseObjectId } from '../../src/git/format/object-id.ts';
import type { FetchRequest, IncomingObjects, PushEdit } from '../../src/git/transport/remote.ts';
import type { RefName } from '../../src/git/repository.ts';
import type { RemoteFixture, RemoteSide } from './remote-fixture.ts';
import { ref } from './store-fixture.ts';

/** An object that nobody has. */
export const absent: ObjectId = parseObjectId('0123456789abcdef0123456789abcdef01234567');

/** A fetch of all threads. */
export const threads: FetchRequest = { refs: ['refs/threads/*'] };

export const threadRef = (name: string): RefName => ref(`threads/${name}`);

/** The server's name for a ref. */
export function nameThere({ refPrefix = 'refs/' }: RemoteFixture, name: string): string {
  return name.replace(/^refs\//, refPrefix);
}

/** Pushes and expects every edit to be made. */
export async function pushAll({ remote }: RemoteSide, edits: readonly PushEdit[]): Promise<void> {
  const results = await remote.push({ edits });
  expect(results.filter(({ outcome }) => outcome !== 'done')).toEqual([]);
  expect(results.map(({ name }) => name)).toEqual(edits.map(({ name }) => name));
}

/** Accepts, and takes the guard away after a ref leads there, as callers do. */
export async function take(
  { repository }: RemoteSide,
  incoming: IncomingObjects,
  names: Record<string, ObjectId>,
): Promise<void> {
  const guard = await incoming.accept(Object.values(names));
  const edits = Object.entries(names).map(([name, value]) => ({ name: threadRef(name), expected: null, value }));
  await repository.refs.update(edits);
  await guard.release();
  await incoming.discard();
}
