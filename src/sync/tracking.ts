import type { ObjectId } from '../git/object-id.ts';
import { parseRefName } from '../git/ref-name.ts';
import { RefMoved, type RefEdit, type RefName } from '../git/ref-store.ts';
import type { Remote, RemoteRef } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import { REMOTES_PREFIX } from '../thread/remove-thread.ts';

const MAX_TRIES = 20;

/** Refs that change together at most: the locks of one change are all held at once. */
export const MAX_TOGETHER = 500;

/** Where this repository keeps what a configured remote has under a name such as `refs/threads/<ulid>`. */
function trackingRef(remote: string, name: string): RefName {
  return parseRefName(name.replace(/^refs\/(?:uwf\/)?/, `${REMOTES_PREFIX}${remote}/`));
}

/**
 * What a remote was last seen to have, under the remote's names. A plain `git fetch` may have brought it, so that
 * nothing of it has been checked. Of a remote that has no name in git's configuration nothing is remembered.
 */
export async function readTracked({ refs }: Repository, remote: Remote): Promise<Map<string, ObjectId>> {
  if (!remote.isConfigured) return new Map();
  const prefix = `${REMOTES_PREFIX}${remote.name}/`;
  const found = await refs.list(prefix);
  return new Map(found.map(({ name, id }) => [nameThere(name.slice(prefix.length)), id]));
}

function nameThere(rest: string): string {
  return /^(?:removed|redacted)\//.test(rest) ? `refs/uwf/${rest}` : `refs/${rest}`;
}

/** The edits after which it is remembered that the remote has, or no longer has, these refs. */
export function trackingEdits(
  remote: Remote,
  tracked: ReadonlyMap<string, ObjectId>,
  news: Iterable<{ name: string; value: ObjectId | null }>,
): RefEdit[] {
  if (!remote.isConfigured) return [];
  return [...news]
    .map(({ name, value }) => ({ name: trackingRef(remote.name, name), expected: tracked.get(name) ?? null, value }))
    .filter(({ expected, value }) => expected !== value);
}

/** Remembers what came of a push. Of two who remember at once the last is right: it asked later. */
export async function remember(
  repository: Repository,
  remote: Remote,
  news: readonly { name: string; value: ObjectId | null }[],
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const edits = trackingEdits(remote, await readTracked(repository, remote), news);
    try {
      return await updateTracking(repository, edits);
    } catch (error) {
      if (!(error instanceof RefMoved) || tries === MAX_TRIES) throw error;
    }
  }
}

/** Makes edits that need not be made together. */
export async function updateTracking({ refs }: Repository, edits: readonly RefEdit[]): Promise<void> {
  for (let at = 0; at < edits.length; at += MAX_TOGETHER) await refs.update(edits.slice(at, at + MAX_TOGETHER));
}

/** Refs as a remote tells of them, from a map. */
export function refsOf(tracked: ReadonlyMap<string, ObjectId>): RemoteRef[] {
  return [...tracked].map(([name, id]) => ({ name, id }));
}
