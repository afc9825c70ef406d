import type { ThreadId } from '../thread/thread-id.ts';
import { BrokenRef, type RefDamage } from '../git/ref-errors.ts';
import { threadOfDamage } from '../thread/find-thread.ts';
import type { EngineContext } from '../engine/context.ts';
import { publish } from '../git/publish.ts';
import { UwfError } from '../errors.ts';
import { ObjectBatch } from '../git/object-batch.ts';
import { RefMoved, type RefEdit } from '../git/ref-store.ts';
import type { IncomingObjects, Remote, RemoteRef } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import { forgetRemoved, listRemoved } from '../thread/removed-threads.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../thread/thread-refs.ts';
import { WORKFLOWS_PREFIX } from '../workflow/workflow-refs.ts';
import { planFetch, type FetchFacts, type FetchPart } from './plan-fetch.ts';
import { receiveRefs } from './receive-refs.ts';
import type { FetchReport } from './report.ts';
import { selectRefs, type Selection } from './select-refs.ts';
import { readStanding } from './standing.ts';
import type { SyncOptions } from './sync-options.ts';
import { MAX_TOGETHER, readTracked, refsOf, updateTracking } from './tracking.ts';

/** Lost races after which giving up is better: somebody moves refs in a loop. */
const MAX_TRIES = 20;

/** After so many new refs all are put into one file: each has one of its own until then. */
const MANY_REFS = 1_000;

/** A fetch, and what the remote was seen to have. */
export type Fetched = { report: FetchReport; there: readonly RemoteRef[] };

/**
 * Brings threads and workflows from a remote: what is sound becomes this repository's, and its refs move forward.
 *
 * Nothing of a thread that fails a check gets into the repository, and the others go on. What cannot be taken in is kept
 * as a fork, whichever side it is on; no step that was here is lost.
 * @throws {RemoteUnreachable} if the remote cannot be reached, or the connection broke; nothing is changed then
 * @throws {ThreadNotThere} {AmbiguousThread} if a thread is named that cannot be told
 * @throws {RefMoved} {RefLocked} {StorageFull} {StorageReadOnly} as the stores do; what is done by then stays, and is whole
 */
export async function fetchThreads(
  context: Pick<EngineContext, 'repository'>,
  remote: Remote,
  options: SyncOptions = {},
): Promise<FetchReport> {
  return (await fetchFrom(context, remote, options)).report;
}

/**
 * The same, for a push that follows.
 * @param mayBeMissing true if what is named may be here alone
 */
export async function fetchFrom(
  context: Pick<EngineContext, 'repository'>,
  remote: Remote,
  options: SyncOptions,
  { mayBeMissing }: { mayBeMissing: boolean } = { mayBeMissing: false },
): Promise<Fetched> {
  const { repository } = context;
  // It may come to change no ref, and what a killed one left would go on keeping git waiting.
  await repository.refs.removeStaleLocks();
  const selection = await selectRefs(remote, options, mayBeMissing);
  const report: FetchReport = {
    remote: remote.name,
    url: remote.url,
    threads: [],
    workflows: [],
    refused: [],
    held: [],
  };
  if (selection.refs.length === 0) return { report, there: [] };
  const incoming = await bring(repository, remote, selection, options);
  if (options.spine && incoming.bring === undefined) report.isWhole = true;
  try {
    await take(context, remote, selection, incoming, report, options);
  } finally {
    await incoming.discard();
  }
  for (const thread of selection.named) forgetRemoved(repository, thread);
  const created = [...report.threads, ...report.workflows].filter(({ before }) => before === null);
  if (created.length > MANY_REFS) await tryToPackRefs(repository, options);
  return { report, there: incoming.refs };
}

async function bring(
  repository: Repository,
  remote: Remote,
  selection: Selection,
  { spine, signal, onProgress }: SyncOptions,
): Promise<IncomingObjects> {
  const here = await readStanding(repository);
  const removed = [...listRemoved(repository)].filter(([thread]) => !here.threads.has(thread));
  const except = removed.flatMap(([thread, refs]) => (selection.named.has(thread) ? [] : refs));
  // Of a remote without a name nothing is remembered; what is here under the same name is often what it has.
  const known = remote.isConfigured ? refsOf(await readTracked(repository, remote)) : await sharedRefs(repository);
  return remote.fetch({
    refs: selection.refs,
    known,
    ...(except.length > 0 && { except }),
    ...(spine && { withoutContents: true }),
    ...(signal && { signal }),
    ...(onProgress && { onProgress }),
  });
}

async function sharedRefs({ refs }: Repository): Promise<RemoteRef[]> {
  const found: RemoteRef[] = [];
  for (const prefix of [ACTIVE_PREFIX, HISTORY_PREFIX, WORKFLOWS_PREFIX]) found.push(...(await refs.list(prefix)));
  return found;
}

async function take(
  context: Pick<EngineContext, 'repository'>,
  remote: Remote,
  selection: Selection,
  incoming: IncomingObjects,
  report: FetchReport,
  options: SyncOptions,
): Promise<void> {
  const { repository } = context;
  const removed = listRemoved(repository);
  const damagedThreads = new Set<ThreadId>();
  const damaged = (damage: RefDamage): void => {
    if (!(damage instanceof BrokenRef)) throw damage;
    const id = threadOfDamage(damage);
    if (id !== undefined) damagedThreads.add(id);
  };
  const here = await readStanding(repository, { damaged });
  const expectations = { here, removed, named: selection.named, damaged: damagedThreads };
  const { refs: accepted, refused, redactions } = await receiveRefs(context, incoming, expectations, options);
  report.refused = refused;
  options.signal?.throwIfAborted();
  const known = new Set((await repository.refs.list('refs/')).map(({ id }) => id));
  const news = new Set(accepted.map(({ id }) => id).filter((id) => !known.has(id)));
  const guard = await incoming.accept([...news]);
  try {
    const namesThere = new Set(incoming.refs.map(({ name }) => name));
    await apply(repository, { remote, accepted, namesThere, selection, removed, redactions }, report);
  } finally {
    await guard.release();
  }
}

/** Does what is planned; where a ref has moved meanwhile, the rest is planned anew. */
async function apply(repository: Repository, facts: FetchFacts, report: FetchReport): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const plan = await planFetch(repository, facts);
    report.held = plan.held;
    try {
      await applyParts(repository, plan.forks, report);
      await applyParts(repository, plan.parts, report);
      await updateTracking(repository, plan.tracking);
      return;
    } catch (error) {
      if (!(error instanceof RefMoved) || tries === MAX_TRIES) throw error;
    }
  }
}

async function applyParts(repository: Repository, parts: readonly FetchPart[], report: FetchReport): Promise<void> {
  for (let at = 0; at < parts.length;) {
    const group: FetchPart[] = [];
    const batch = new ObjectBatch(repository.objects.format);
    const edits: RefEdit[] = [];
    for (; at < parts.length && edits.length < MAX_TOGETHER; at += 1) {
      const part = parts[at];
      if (part === undefined) break;
      group.push(part);
      edits.push(...part.edits);
      for (const object of part.batch?.objects ?? []) batch.add(object);
    }
    await publish(repository, batch, edits);
    for (const { thread, workflow } of group) {
      if (thread) report.threads.push(thread);
      if (workflow) report.workflows.push(workflow);
    }
  }
}

async function tryToPackRefs({ location }: Repository, { env }: SyncOptions): Promise<void> {
  if (location === undefined || env === undefined) return;
  const { packRefs } = await import('../git/native/pack-refs.ts');
  try {
    await packRefs(location, env);
  } catch (error) {
    // There is no git, or somebody holds the lock: what was fetched is there all the same.
    if (!(error instanceof UwfError)) throw error;
  }
}
