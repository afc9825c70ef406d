import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createEngineContext, type EngineContext, type EngineOptions } from '../../../src/engine/engine-context.ts';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { takeLeaseFile, type Lease } from '../../../src/engine/leases/lease.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { newThreadId } from '../../../src/thread/new-thread-id.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import type { ThreadId } from '../../../src/thread/thread-id.ts';
import { createRepositoryWithState } from '../../helpers/memory-repository.ts';

export const nowMs: number = Date.now();
export const thread: ThreadId = newThreadId({ now: () => nowMs });
export const other: ThreadId = newThreadId({ now: () => nowMs });

/** A repository, its folder of slots, and what its engines tell. */
export type SlotFixture = {
  repository: Repository;
  folder: string;
  events: EngineEvent[];
  engineOf(maxParallelThreads: number | undefined, options?: Partial<EngineOptions>): EngineContext;
  /** The work of a turn: tells which slots are taken while it goes on. */
  slotsTaken(): Promise<string[]>;
  /** Takes a slot for another thread. */
  takeSlotFile(number: number): Promise<Lease>;
};

export async function createSlotFixture(): Promise<SlotFixture> {
  const repository = await createRepositoryWithState();
  const folder = join(repository.stateDir, 'slots');
  const events: EngineEvent[] = [];
  return {
    repository,
    folder,
    events,
    engineOf(maxParallelThreads, options = {}) {
      const limits = maxParallelThreads === undefined ? {} : { limits: { maxParallelThreads } };
      const config = { agents: {}, roles: {}, ...limits };
      return createEngineContext({ repository, config, onEvent: (event) => events.push(event), ...options });
    },
    slotsTaken: () => Promise.resolve(readdirSync(folder)),
    async takeSlotFile(number) {
      const outcome = await takeLeaseFile(join(folder, `${number}.json`), Date.now, other);
      if (outcome.kind !== 'taken') throw new Error('the slot is not free');
      return outcome.lease;
    },
  };
}

/** What a slot looks at of a thread. */
export function stateOf(head: 'start' | 'suspend' = 'start', end?: object): ThreadState {
  // The other fields are not read.
  return { id: thread, head: { kind: head }, end } as ThreadState;
}

/** The most turns that were between their begin and their end at once. */
export function mostAtOnce(turns: readonly string[]): number {
  let now = 0;
  return Math.max(...turns.map((line) => (now += line.startsWith('begin') ? 1 : -1)));
}
