import { discoverRepository } from '../git/discover.ts';
import { withoutPlaces } from '../git/git-directory.ts';
import { describeMissing, type MissingFiles } from '../git/native/missing-files.ts';
import { takeSnapshot, type Snapshot, type SnapshotLimits } from '../git/native/snapshot.ts';
import { readCommit } from '../git/read.ts';
import type { RepositoryLocation } from '../git/repository.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { EngineContext } from './context.ts';
import type { SnapshotMode } from './snapshot-config.ts';

const DEFAULT_LIMITS: SnapshotLimits = { maxBytes: 100 * 1024 * 1024, timeoutMs: 10_000 };

/**
 * Records the files that a role's turn left in the work tree it worked in, as its definition or else the configuration
 * wants it.
 *
 * What cannot be recorded is told as `snapshot.shortened`: the turn has been paid for and is stored all the same.
 * @param cwd where the agent worked
 * @returns `undefined` where nothing is to be recorded, or the agent did not work in a work tree of the repository
 */
export async function recordWorkspace(
  context: EngineContext,
  state: ThreadState,
  turn: { role: string; cwd: string; mode: SnapshotMode | undefined },
): Promise<Snapshot | undefined> {
  const mode = turn.mode ?? context.config.snapshot?.mode ?? 'off';
  if (mode === 'off') return undefined;
  const location = await workTreeAt(context, turn.cwd);
  if (location === undefined) {
    shortened('it did not work in a work tree of this repository');
    return undefined;
  }
  try {
    const snapshot = await record(context, state, location);
    const { shortfall, missing } = snapshot;
    if (shortfall !== undefined) shortened(shortfall);
    else if (missing !== undefined) shortened(describeMissing(missing), missing);
    const isWanted = mode === 'on' || shortfall !== undefined;
    if (isWanted || snapshot.tree !== (await treeBefore(context, state, snapshot))) return snapshot;
    snapshot.release();
  } catch (error) {
    // Not even the commit could be read, but the turn has been paid for.
    shortened(error instanceof Error ? error.message : String(error));
  }
  return undefined;

  function shortened(reason: string, missing?: MissingFiles): void {
    const event = { event: 'snapshot.shortened', thread: state.id, role: turn.role, reason } as const;
    context.tell(missing === undefined ? event : { ...event, missing });
  }
}

async function record(context: EngineContext, state: ThreadState, location: RepositoryLocation): Promise<Snapshot> {
  const { repository, env, config } = context;
  const limits = { ...DEFAULT_LIMITS, ...config.snapshot };
  const startedMs = performance.now();
  const snapshot = await takeSnapshot(repository, { location, env, limits });
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
  const recorded = state.steps.findLast((step) => step.commit.node.workspace !== undefined);
  if (recorded !== undefined) return recorded.commit.node.workspace?.tree;
  return commit === undefined ? undefined : (await readCommit(repository.objects, commit)).tree;
}
