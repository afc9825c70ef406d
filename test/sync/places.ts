import { join } from 'node:path';
import { readingContext } from '../../src/engine/engine-context.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { Repository } from '../../src/git/repository.ts';
import { fetchThreads } from '../../src/sync/fetch-threads.ts';
import { pushThreads } from '../../src/sync/push-threads.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { DirectRemote } from '../helpers/direct-remote.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { createTemporaryFolder } from '../helpers/temporary-repository.ts';
import { startLoop } from '../thread/thread-fixture.ts';
import { act, createLedger, type Action, type Clone } from './clones.ts';

export type Place = Clone & {
  context: EngineContext;
  name: string;
  /** Does something to its only thread, or to the one at a place in the order of their ids. */
  do(kind: Action['kind'], pick?: number): Promise<void>;
  /** Where its threads are: names of refs without what they have in common, and commits. */
  threads(): Promise<Record<string, ObjectId>>;
};

let clockMs = Date.parse('2026-11-21T12:00:00Z');

/** Lets time go by, for everybody. */
export function pass(ms: number): number {
  return (clockMs += ms);
}

/** Makes repositories in memory with one server that all of them reach. */
export function createPlaces(...names: string[]): { server: MapRepository; places: Place[] } {
  const folder = createTemporaryFolder();
  const server = createMapRepository();
  const places = names.map((name): Place => {
    const repository: Repository = {
      ...createMapRepository(),
      stateDir: join(folder, name),
      committer: { name, email: `${name}@example.com` },
      now: () => (clockMs += 1_000),
    };
    const remote = new DirectRemote(repository, server);
    const clone = { repository, remote };
    return {
      ...clone,
      name,
      context: readingContext(repository),
      do: (kind, pick = 0) => act(clone, { clone: 0, kind, pick }, createLedger()),
      threads: () => threadsOf(repository),
    };
  });
  return { server, places };
}

/** Where the threads of a repository are: names of refs without `refs/`, and commits. */
export async function threadsOf({ refs }: Pick<Repository, 'refs'>): Promise<Record<string, ObjectId>> {
  const found = [...(await refs.list('refs/threads/')), ...(await refs.list('refs/history/'))];
  return Object.fromEntries(found.map(({ name, id }) => [name.replace('refs/', ''), id]));
}

/** A thread that both have, at the same step. */
export async function share(ada: Place, ben: Place): Promise<ThreadState> {
  const state = await startLoop(ada.repository);
  await ada.do('append');
  await pushThreads(ada.context, ada.remote);
  await fetchThreads(ben.context, ben.remote);
  return state;
}
