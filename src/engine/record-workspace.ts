import { discoverRepository } from '../git/discover.ts';
import { withoutPlaces } from '../git/git-directory.ts';
import { describeMissing, type MissingFiles } from '../git/native/missing-files.ts';
import {
  readHead,
  takeSnapshot,
  type Snapshot,
  type SnapshotLimits,
  type SnapshotOptions,
} from '../git/native/snapshot.ts';
import { readCommit, type ObjectReader } from '../git/read.ts';
import type { RepositoryLocation } from '../git/repository.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { EngineContext } from './context.ts';
import { assertWithoutSecrets, FilesHoldSecrets } from './secrets-in-files.ts';
import type { SnapshotMode } from './snapshot-config.ts';

const DEFAULT_LIMITS: SnapshotLimits = { maxBytes: 100 * 1024 * 1024, timeoutMs: 10_000 };

/** Where a turn works, how its files are kept, and what they were before it: trees of git. */
export type TurnFiles = { cwd: string; mode: SnapshotMode; before: readonly ObjectId[] };

/**
 * Notes what the files of a turn are that is about to begin, as far as git has them: as they were recorded last, and as
 * they are checked out.
 */
export async function filesBefore(
  context: EngineContext,
  state: ThreadState,
  { cwd, mode = context.config.snapshot?.mode ?? 'off' }: { cwd: string; mode: SnapshotMode | undefined },
): Promise<TurnFiles> {
  const location = mode === 'off' ? undefined : await workTreeAt(context, cwd);
  if (location === undefined) return { cwd, mode, before: [] };
  const { objects } = context.repository;
  const head = await readHead(context.repository, location).catch(() => undefined);
  const checkedOut = head && (await readCommit(objects, head).catch(() => undefined));
  return { cwd, mode, before: [recordedTree(state), checkedOut?.tree].filter((tree) => tree !== undefined) };
}

/**
 * Records the files that a role's turn left in the work tree it worked in, as its definition or else the configuration
 * wants it.
 *
 * What cannot be recorded is told as `snapshot.shortened`: the turn has been paid for and is stored all the same.
 * @param allowSecrets records them although they may hold secrets
 * @returns `undefined` where nothing is to be recorded, or the agent did not work in a work tree of the repository
 * @throws {FilesHoldSecrets} if what differs from before does; nothing of it is in the repository then
 */
export async function recordWorkspace(
  context: EngineContext,
  state: ThreadState,
  role: string,
  { cwd, mode, before }: TurnFiles,
  allowSecrets: boolean,
): Promise<Snapshot | undefined> {
  if (mode === 'off') return undefined;
  const location = await workTreeAt(context, cwd);
  if (location === undefined) {
    shortened('it did not work in a work tree of this repository');
    return undefined;
  }
  try {
    const { redactor } = context;
    const inspect =
      redactor === null || allowSecrets
        ? undefined
        : (tree: ObjectId, objects: ObjectReader) => assertWithoutSecrets(redactor, objects, tree, before);
    const snapshot = await record(context, state, location, inspect);
    const { shortfall, missing } = snapshot;
    if (shortfall !== undefined) shortened(shortfall);
    else if (missing !== undefined) shortened(describeMissing(missing), missing);
    const isWanted = mode === 'on' || shortfall !== undefined;
    if (isWanted || snapshot.tree !== (await treeBefore(context, state, snapshot))) return snapshot;
    snapshot.release();
  } catch (error) {
    if (error instanceof FilesHoldSecrets) throw error;
    // Not even the commit could be read, but the turn has been paid for.
    shortened(error instanceof Error ? error.message : String(error));
  }
  return undefined;

  function shortened(reason: string, missing?: MissingFiles): void {
    const event = { event: 'snapshot.shortened', thread: state.id, role, reason } as const;
    context.tell(missing === undefined ? event : { ...event, missing });
  }
}

async function record(
  context: EngineContext,
  state: ThreadState,
  location: RepositoryLocation,
  inspect: SnapshotOptions['inspect'],
): Promise<Snapshot> {
  const { repository, env, config } = context;
  const limits = { ...DEFAULT_LIMITS, ...config.snapshot };
  const startedMs = performance.now();
  const snapshot = await takeSnapshot(repository, { location, env, limits, ...(inspect && { inspect }) });
  const ms = Math.round(performance.now() - startedMs);
  context.debug(state.id, 'snapshot', { ms, tree: snapshot.tree });
  return snapshot;
}

/** The work tree that a folder lies in, if it is one of this repository. */
async function workTreeAt({ repository, env }: EngineContext, cwd: string): Promise<RepositoryLocation | undefined> {
  const own = repository.location;
  // That one may have been named by variables, and not lie around the folder at all.
  if (cwd === own?.workTree) return own;
  try {
    const found = await discoverRepository(cwd, withoutPlaces(env));
    return found.commonDir === own?.commonDir && found.workTree !== undefined ? found : undefined;
  } catch {
    // Not a folder of any repository, or none any more: the agent's business.
    return undefined;
  }
}

/** What was recorded last in the thread; before there is anything, what is checked out. */
async function treeBefore(
  { repository }: EngineContext,
  state: ThreadState,
  { commit }: Snapshot,
): Promise<ObjectId | undefined> {
  const recorded = recordedTree(state);
  if (recorded !== undefined) return recorded;
  return commit === undefined ? undefined : (await readCommit(repository.objects, commit)).tree;
}

function recordedTree(state: ThreadState): ObjectId | undefined {
  return state.steps.findLast((step) => step.commit.node.workspace !== undefined)?.commit.node.workspace?.tree;
}
