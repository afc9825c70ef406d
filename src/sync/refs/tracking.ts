import type { ObjectId } from '../../git/format/object-id.ts';
import { parseRefName } from '../../git/format/ref-name.ts';
import { type RefEdit, type RefName } from '../../git/ref-store.ts';
import type { FetchedRefs } from '../../git/transport/add-fetch-refspecs.ts';
import type { Remote, RemoteRef } from '../../git/transport/remote.ts';
import type { Repository } from '../../git/repository.ts';
import { REMOTES_PREFIX } from '../../thread/thread-id.ts';
import { LIST_REF } from '../../thread/archive/archive-list.ts';
import { CLAIMS_PREFIX } from '../claims/claim.ts';
import { SHARED_PATTERNS } from './sorted-refs.ts';
import { againIfMoved } from '../../git/stores/publish.ts';

const MAX_TRIES = 20;

/** The most refs that one transaction changes: it holds the locks of all of them. */
export const MAX_TOGETHER = 500;

/** The tracking ref, in this repository, of a configured remote's ref such as `refs/threads/<ulid>`. */
function trackingRef(remote: string, name: string): RefName {
  return parseRefName(trackingName(remote, name));
}

/** The name of the same, also for a beginning of names or a pattern. */
export function trackingName(remote: string, name: string): string {
  return name.replace(/^refs\/(?:uwf\/)?/, `${REMOTES_PREFIX}${remote}/`);
}

/**
 * Reads the tracking refs of a remote, under the remote's names. A plain `git fetch` may have written them, so their commits
 * may be unchecked. A remote without a name in git's configuration has none.
 */
export async function readTracked({ refs }: Repository, remote: Remote): Promise<Map<string, ObjectId>> {
  if (!remote.isConfigured) return new Map();
  const prefix = `${REMOTES_PREFIX}${remote.name}/`;
  const found = await refs.list(prefix);
  return new Map(found.map(({ name, id }) => [nameThere(name.slice(prefix.length)), id]));
}

/** Reads one tracking ref, by the remote's name for it. */
export async function readTrackedRef(
  { refs }: Pick<Repository, 'refs'>,
  remote: Pick<Remote, 'name' | 'isConfigured'>,
  name: string,
): Promise<ObjectId | undefined> {
  return remote.isConfigured ? refs.read(trackingRef(remote.name, name)) : undefined;
}

function nameThere(rest: string): string {
  return /^(?:removed|claims|archive)\//.test(rest) ? `refs/uwf/${rest}` : `refs/${rest}`;
}

/** What a ref of the remote has become; `null` if it was deleted. */
type News = { name: string; value: ObjectId | null };

/** The edits that bring the tracking refs up to date with changes at the remote. */
export function trackingEdits(remote: Remote, tracked: ReadonlyMap<string, ObjectId>, news: Iterable<News>): RefEdit[] {
  if (!remote.isConfigured) return [];
  return [...news]
    .map(({ name, value }) => ({ name: trackingRef(remote.name, name), expected: tracked.get(name) ?? null, value }))
    .filter(({ expected, value }) => expected !== value);
}

/** Updates the tracking refs after a push. Of two processes that do so at once the last wins: its information is newer. */
export async function remember(repository: Repository, remote: Remote, news: readonly News[]): Promise<void> {
  await againIfMoved(MAX_TRIES, async () => {
    await updateTracking(repository, trackingEdits(remote, await readTracked(repository, remote), news));
  });
}

/** Makes edits of tracking refs, in several transactions. */
export async function updateTracking({ refs }: Repository, edits: readonly RefEdit[]): Promise<void> {
  for (let at = 0; at < edits.length; at += MAX_TOGETHER) await refs.update(edits.slice(at, at + MAX_TOGETHER));
}

/** The refs of a map, as a remote lists them. */
export function refsOf(tracked: ReadonlyMap<string, ObjectId>): RemoteRef[] {
  return [...tracked].map(([name, id]) => ({ name, id }));
}

/**
 * What a plain `git fetch` of a remote copies to its tracking refs. Left out are claims, which change by the second, and the list
 * of the archive: git refuses a whole fetch for one name that the remote does not have.
 *
 * The copies may be forced and pruned: only tracking refs are written, so no thread of this repository can be overwritten or
 * deleted. There are no refspecs for `git push`, because a forced push replaces what the remote has.
 */
export function trackedRefs(remote: string): FetchedRefs[] {
  const copied = SHARED_PATTERNS.filter((pattern) => pattern !== LIST_REF && !pattern.startsWith(CLAIMS_PREFIX));
  return copied.map((source) => ({ source, target: trackingName(remote, source) }));
}

/** Finds, for each thread, the remotes that had it when they were last seen, by their names in git's configuration. */
export async function lastSeenAt({ refs }: Pick<Repository, 'refs'>): Promise<Map<string, string[]>> {
  const seen = new Map<string, string[]>();
  for (const { name } of await refs.list(REMOTES_PREFIX)) {
    const { remote, thread } = ofThread.exec(name.slice(REMOTES_PREFIX.length))?.groups ?? {};
    if (remote === undefined || thread === undefined) continue;
    seen.set(thread, [...(seen.get(thread) ?? []), remote]);
  }
  return seen;
}

const ofThread = /^(?<remote>.+)\/(?:threads|history\/[^/]+)\/(?<thread>[^/]+)$/;
