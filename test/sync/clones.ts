import { readTree } from '../../src/git/stores/read.ts';
import { prepareHashing } from '../../src/cas/hash.ts';
import { readingContext } from '../../src/engine/engine-context.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { readCommit } from '../../src/git/stores/read.ts';
import type { Remote } from '../../src/git/transport/remote.ts';
import type { Repository } from '../../src/git/repository.ts';
import { fetchThreads } from '../../src/sync/fetch-threads.ts';
import { pushThreads, syncThreads } from '../../src/sync/push-threads.ts';
import { removeRemoteThread } from '../../src/sync/remove-remote-thread.ts';
import { readSortedRefs } from '../../src/sync/shared-refs.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread, forkThread } from '../../src/thread/thread-verbs.ts';
import { listPointers } from '../../src/thread/find-thread.ts';
import type { ThreadId, ThreadPointer } from '../../src/thread/thread-id.ts';
import { removeThread } from '../../src/thread/remove-thread.ts';
import { readState, type ThreadState } from '../../src/thread/thread-state.ts';
import { registerWorkflow } from '../../src/workflow/registry/find-workflow.ts';
import { loop, startLoop, stepDraft } from '../thread/thread-fixture.ts';

/** A clone of a shared repository, and its way there. */
export type Clone = { repository: Repository; remote: Remote };

/** What a person does in one of several clones; `pick` chooses among the threads that are there. */
export type Action = {
  clone: number;
  pick: number;
  kind:
    | 'start'
    | 'append'
    | 'poke'
    | 'fork'
    | 'end'
    | 'remove'
    | 'remove there'
    | 'register'
    | 'fetch'
    | 'push'
    | 'sync';
};

/** What was done and acknowledged. */
export type Ledger = {
  /** Every commit that a clone said was stored, with the thread that it was stored in. */
  commits: Map<ObjectId, ThreadId>;
  ended: Set<ThreadId>;
  /** Threads that somebody removed, and what they led to where that was done. */
  removed: Set<ThreadId>;
  removedCommits: Set<ObjectId>;
};

export function createLedger(): Ledger {
  return { commits: new Map(), ended: new Set(), removed: new Set(), removedCommits: new Set() };
}

/** Does one action, as far as there is a thread to do it to. */
export async function act(clone: Clone, { kind, pick }: Action, ledger: Ledger): Promise<void> {
  const { repository, remote } = clone;
  await prepareHashing();
  const context = readingContext(repository);
  if (kind === 'start') note(ledger, await startLoop(repository));
  else if (kind === 'register') {
    await registerWorkflow(repository, { ...loop, description: `version ${pick}` });
  } else if (kind === 'fetch') await fetchThreads(context, remote);
  else if (kind === 'push') await pushThreads(context, remote);
  else if (kind === 'sync') await syncThreads(context, remote);
  else {
    const isAny = kind === 'remove' || kind === 'remove there' || kind === 'fork';
    const pointers = (await listPointers(repository)).filter(({ isHistory }) => isAny || !isHistory);
    const pointer = pointers[pick % Math.max(1, pointers.length)];
    if (pointer) await actOn(clone, pointer, kind, ledger);
  }
}

async function actOn(
  { repository, remote }: Clone,
  pointer: ThreadPointer,
  kind: Action['kind'],
  ledger: Ledger,
): Promise<void> {
  const state = await readState(repository, pointer.id, pointer.head);
  if (kind === 'fork') await forkThread(repository, pointer);
  else if (kind === 'append' && !state.end) {
    const isWriter = state.tally.steps % 2 === 0;
    const rule = state.tally.steps === 0 ? 0 : isWriter ? 2 : 1;
    const role = isWriter ? 'writer' : 'checker';
    const draft = stepDraft({ role, rule, meta: { $status: isWriter ? 'done' : 'again' }, text: textOf(repository) });
    note(ledger, await appendStep(repository, state, timed(repository, draft)));
  } else if (kind === 'poke' && !state.end) {
    const { last } = state;
    const before = last?.commit.parents[0];
    if (last === undefined || before === undefined || last.id !== state.head.id) return;
    const { role, rule, meta } = last.node;
    const draft = stepDraft({ role, rule, meta, replaces: last, text: textOf(repository) });
    const earlier = await readState(repository, pointer.id, before);
    note(ledger, await appendStep(repository, earlier, timed(repository, draft)));
  } else if (kind === 'end' && !state.end) {
    const over = await endThread(repository, state, { outcome: 'cancelled', returnCode: 130, summary: 'over' });
    note(ledger, over);
    ledger.ended.add(pointer.id);
  } else if (kind === 'remove' || kind === 'remove there') {
    if (kind === 'remove there') await removeRemoteThread({ repository }, remote, pointer.id).catch(ignoreNotThere);
    await removeThread(repository, pointer);
    ledger.removed.add(pointer.id);
    for (const id of await reachable(repository, [pointer.head])) ledger.removedCommits.add(id);
  }
}

function ignoreNotThere(error: unknown): void {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'thread-not-there' && code !== 'not-removed-there') throw error;
}

function note({ commits }: Ledger, { id, head }: ThreadState): void {
  commits.set(head.id, id);
}

let turns = 0;
/** Agents never say the same twice. */
function textOf({ committer }: Repository): string {
  return `${committer.name} says ${(turns += 1)}\n`;
}

function timed<Draft>(repository: Repository, draft: Draft): Draft {
  const nowMs = repository.now();
  return { ...draft, startedAtMs: nowMs, completedAtMs: nowMs };
}

/** All commits that some lead to. */
export async function reachable({ objects }: Repository, heads: readonly ObjectId[]): Promise<Set<ObjectId>> {
  const found = new Set<ObjectId>();
  const waiting = [...heads];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    waiting.push(...(await readCommit(objects, id)).parents);
  }
  return found;
}

/** Threads and workflows with where they are, but for threads that somebody removed; one line each. */
export async function describeStanding(repository: Repository, { removed }: Ledger): Promise<string[]> {
  const { threads, workflows } = await readSortedRefs(repository);
  const lines = [...workflows].map(([name, id]) => `workflow ${name} ${id}`);
  for (const [thread, tips] of threads) {
    if (removed.has(thread)) continue;
    lines.push(...tips.map(({ id, endedOn }) => `thread ${thread} ${endedOn ?? 'active'} ${id}`));
  }
  return lines.toSorted();
}

/** What was acknowledged and is not in a clone, though nobody removed it. */
export async function findLost(repository: Repository, ledger: Ledger): Promise<ObjectId[]> {
  const heads = (await listPointers(repository)).map(({ head }) => head);
  const there = await reachable(repository, heads);
  const lost = [...ledger.commits].filter(([id, thread]) => !there.has(id) && !ledger.removed.has(thread));
  return lost.map(([id]) => id).filter((id) => !ledger.removedCommits.has(id));
}

/** Fails unless everything that refs lead to is there. */
export async function expectComplete({ objects, refs }: Repository): Promise<void> {
  const heads = (await refs.list('refs/')).map(({ id }) => id);
  for (const id of await reachable({ objects } as Repository, heads)) {
    await readTree(objects, (await readCommit(objects, id)).tree);
  }
}
