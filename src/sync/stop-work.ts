import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { ObjectBatch } from '../git/stores/publish.ts';
import { isDone, type PushEdit, refusalIn, type Remote, type RemoteRef } from '../git/transport/remote.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import {
  type Claim,
  CLAIM_DEADLINES,
  claimRef,
  CLAIMS_PREFIX,
  claimsMove,
  claimsRefused,
  findClaim,
  makeClaim,
} from './claims.ts';
import { fetchSelection } from './fetch-threads.ts';
import { selectPatterns } from './plan-fetch.ts';
import type { SyncOptions } from './report.ts';
import { remember } from './shared-refs.ts';

/** How often it is tried again because a worker changes its claim at the same time. */
const MAX_ROUNDS = 10;

type Place = Pick<Claim, 'thread' | 'head'>;

type Options = Pick<SyncOptions, 'env' | 'signal'>;

/**
 * Puts claims that stop the work in the place of the claims of workers at a remote: they publish nothing more of these threads,
 * and no worker takes them until {@link letGoOn}.
 * @param by the worker that stops it, and why; absent: a person, under the name that git has for them
 * @returns the claims of workers that were replaced
 */
export async function stopWork(
  repository: Repository,
  remote: Remote,
  places: readonly Place[],
  options: Options,
  by?: { name: string; reason: string },
): Promise<Claim[]> {
  const session = randomBytes(8).toString('hex');
  const { name } = by ?? repository.committer;
  const stop = { stoppedBy: name, ...(by && { reason: by.reason }) };
  const who = { worker: name, host: hostname(), session, count: 0, deadlineMs: CLAIM_DEADLINES.max, ...stop };
  const replaced = new Map<ThreadId, Claim>();
  await changeClaims(repository, remote, places, options, (place, claim) => {
    if (claim?.stoppedBy !== undefined) return undefined;
    if (claim === undefined || claim.givenBack === true) replaced.delete(place.thread);
    else replaced.set(place.thread, claim);
    return { ...place, ...who };
  });
  return [...replaced.values()];
}

/** The threads that the claims among some refs of a remote stop. Claims that are not here are passed over. */
export async function stoppedAmong({ objects }: Repository, there: readonly RemoteRef[]): Promise<Set<ThreadId>> {
  const stopped = new Set<ThreadId>();
  for (const { name, id } of there) {
    if (!name.startsWith(CLAIMS_PREFIX)) continue;
    const claim = await findClaim(objects, id);
    if (claim?.stoppedBy !== undefined && claimRef(claim.thread) === name) stopped.add(claim.thread);
  }
  return stopped;
}

/** Removes the claims that stop the work on threads of a remote: workers take them again. */
export async function letGoOn(
  repository: Repository,
  remote: Remote,
  places: readonly Place[],
  options: Options,
): Promise<void> {
  await changeClaims(repository, remote, places, options, (_, claim) =>
    claim?.stoppedBy === undefined ? undefined : null,
  );
}

/** Removes all claims from threads that are over: the workers that have them stop. */
export async function removeClaims(
  repository: Repository,
  remote: Remote,
  places: readonly Place[],
  options: Options,
): Promise<void> {
  await changeClaims(repository, remote, places, options, () => null);
}

/**
 * Replaces or removes claims, each under the value that it has now.
 * @param choose what becomes of a thread's claim: another one, null for none, `undefined` to leave it
 */
async function changeClaims(
  repository: Repository,
  remote: Remote,
  places: readonly Place[],
  options: Options,
  choose: (place: Place, claim: Claim | undefined) => Claim | null | undefined,
): Promise<void> {
  const { objects, now } = repository;
  const { signal } = options;
  let left = places;
  for (let round = 0; left.length > 0 && round < MAX_ROUNDS; round += 1) {
    const names = left.map(({ thread }) => claimRef(thread));
    const { there } = await fetchSelection(repository, remote, selectPatterns(names), options);
    const ids = new Map<string, ObjectId>(there.map(({ name, id }) => [name, id]));
    const batch = new ObjectBatch(objects.format);
    const changes: { place: Place; edit: PushEdit }[] = [];
    for (const place of left) {
      const name = claimRef(place.thread);
      const expected = ids.get(name) ?? null;
      const next = choose(place, await findClaim(objects, expected));
      if (next === undefined || (next === null && expected === null)) continue;
      const made = next === null ? undefined : makeClaim(objects.format, next, now());
      for (const object of made?.batch.objects ?? []) batch.add(object);
      changes.push({ place, edit: { name, value: made?.id ?? null, expected } });
    }
    if (changes.length === 0) return;
    const guard = await objects.write(batch.objects);
    try {
      const results = await remote.push({ edits: changes.map(({ edit }) => edit), isForward: true, signal });
      const isMade = (at: number): boolean => isDone(results[at]?.outcome);
      const done = changes.filter((_, at) => isMade(at)).map(({ edit: { name, value } }) => ({ name, value }));
      await remember(repository, remote, done);
      const refusal = refusalIn(results);
      if (refusal !== undefined) throw claimsRefused(remote, refusal);
      left = changes.filter((_, at) => !isMade(at)).map(({ place }) => place);
    } finally {
      await guard.release();
    }
  }
  if (left.length > 0) throw claimsMove(remote);
}
