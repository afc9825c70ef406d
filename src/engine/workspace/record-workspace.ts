import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { INDEX_NAME, isTreeOfNodes } from '../../cas/commit-nodes.ts';
import { messageOf } from '../../errors.ts';
import { discoverRepository } from '../../git/repository/discover.ts';
import { forSearchIn } from '../../git/repository/git-directory.ts';
import { isMadeForThread } from '../../git/repository/work-trees.ts';
import { describeMissing, type MissingFiles, pathAsText } from '../../git/format/paths.ts';
import { forgetCopied, INCLUDE_FILE } from '../../git/worktree/find-changes.ts';
import {
  readHead,
  SnapshotRefused,
  takeSnapshot,
  type Snapshot,
  type SnapshotLimits,
  type SnapshotOptions,
} from '../../git/worktree/snapshot.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { Repository, RepositoryLocation } from '../../git/repository.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { type FileHit, SecretScan } from '../../thread/secret-scan.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { isIsolated, type Isolation } from '../../workflow/definition.ts';
import type { Machine, Telling } from '../engine-context.ts';
import type { Config } from '../config/config.ts';
import type { Step } from '../turn/step.ts';
import type { SnapshotMode } from '../config/config-schema.ts';
import { monotonicMs } from '../../time/clock.ts';

const DEFAULT_LIMITS: SnapshotLimits = { maxBytes: 100 * 1024 * 1024, timeoutMs: 10_000 };
/** Without its files an isolated turn waits for a person, so it is worth waiting while many runs keep the disk busy. */
const ISOLATED_TIMEOUT_MS = 60_000;

/** The limits of the snapshots that an engine takes; default: of turns that are not isolated. */
export function snapshotLimits(
  { config }: { config: Pick<Config, 'snapshot'> },
  isolation?: Isolation,
): SnapshotLimits {
  return { ...DEFAULT_LIMITS, ...(isIsolated(isolation) && { timeoutMs: ISOLATED_TIMEOUT_MS }), ...config.snapshot };
}

/** Files hold secrets, and files are not edited. */
export class FilesHoldSecrets extends SnapshotRefused {
  readonly places: readonly FileHit[];
  constructor(places: readonly FileHit[]) {
    super('files hold secrets');
    this.places = places;
  }
}

/** Where a turn works, how its files are kept, and what they were before it: trees of git. */
export type TurnFiles = {
  cwd: string;
  mode: SnapshotMode;
  before: readonly ObjectId[];
  /** How the turn was kept apart. */
  isolation: Isolation;
};

/** How the files of turns that are not isolated are kept: as the role says, else the configuration. */
export function snapshotMode(
  { config, sharesTurns }: Pick<Machine, 'config' | 'sharesTurns'>,
  wanted: SnapshotMode | undefined,
): SnapshotMode {
  return wanted ?? config.snapshot?.mode ?? (sharesTurns ? 'changed' : 'off');
}

/** Tells whether git looks at the files at all. */
export function isRecording(mode: SnapshotMode | undefined): boolean {
  return mode !== undefined && mode !== 'off';
}

/** Returns the trees that a turn begins with: the one that was recorded last, and the one that is checked out. */
export async function filesBefore(
  engine: Machine,
  state: ThreadState,
  { cwd, isolation }: { cwd: string; isolation: Isolation },
  wanted: SnapshotMode | undefined,
): Promise<TurnFiles> {
  const mode = isIsolated(isolation) ? 'on' : snapshotMode(engine, wanted);
  const location = mode === 'off' ? undefined : await workTreeAt(engine, cwd);
  if (location === undefined) return { cwd, mode, before: [], isolation };
  const { objects } = engine.repository;
  const head = await readHead(engine.repository, location).catch(() => undefined);
  const checkedOut = head && (await readCommit(objects, head).catch(() => undefined));
  const before = [await recordedTree(engine.repository, state), checkedOut?.tree].filter((tree) => tree !== undefined);
  return { cwd, mode, before, isolation };
}

/**
 * Records the files that a role's turn left in the work tree it worked in, as its definition or else the configuration
 * wants it.
 *
 * Files that cannot be recorded are told as `snapshot.shortened`. The turn was paid for and is stored without them.
 * @param allowSecrets records them although they may hold secrets
 * @returns `undefined` where nothing is to be recorded, or the agent did not work in a work tree of the repository
 * @throws {FilesHoldSecrets} if what differs from before does; nothing of it is in the repository then
 */
export async function recordWorkspace(
  { engine, state }: Pick<Step<Machine & Telling>, 'engine' | 'state'>,
  role: string,
  { cwd, mode, before, isolation }: TurnFiles,
  allowSecrets: boolean,
): Promise<Snapshot | undefined> {
  if (mode === 'off') return undefined;
  const { repository, env, redactor } = engine;
  const shortened = (reason: string, missing?: MissingFiles): void => {
    const event = { event: 'snapshot.shortened', thread: state.id, role, reason } as const;
    engine.tell(missing === undefined ? event : { ...event, missing });
  };
  const location = (await workTreeAt(engine, cwd)) ?? (isIsolated(isolation) && (await workTreeAbove(engine, cwd)));
  if (!location) {
    shortened('it did not work in a work tree of this repository');
    return undefined;
  }
  try {
    const limits = snapshotLimits(engine, isolation);
    const scan = redactor === null || allowSecrets ? undefined : scanFor(redactor, before);
    const inspect: SnapshotOptions['inspect'] = async (tree, objects, about) => {
      const { copied } = about;
      // Its snapshot could not be told from a commit of a thread, and the step would not verify.
      if (await isTreeOfNodes(objects, tree))
        throw new Error(`the file '${INDEX_NAME}' at the top is one that uwf wrote for a thread; move or remove it`);
      // A person has allowed those.
      if (allowSecrets) forgetCopied(location, copied);
      else if (copied.length > 0) throw new FilesHoldSecrets(copied.map(asCopied));
      await scan?.(tree, objects, about);
    };
    const startedMs = monotonicMs();
    const snapshot = await takeSnapshot(repository, { location, env, limits, inspect });
    engine.debug(state.id, 'snapshot', { ms: Math.round(monotonicMs() - startedMs), tree: snapshot.tree });
    const { commit, shortfall, missing } = snapshot;
    if (shortfall !== undefined) shortened(shortfall);
    else if (missing !== undefined) shortened(describeMissing(missing), missing);
    const isWanted = mode === 'on' || shortfall !== undefined;
    // Recorded last in the thread; before there is anything, checked out.
    const last =
      (await recordedTree(repository, state)) ?? (commit && (await readCommit(repository.objects, commit)).tree);
    if (isWanted || snapshot.tree !== last) return snapshot;
    snapshot.release();
  } catch (error) {
    if (error instanceof FilesHoldSecrets) throw error;
    // Not even the commit could be read, but the turn has been paid for.
    shortened(messageOf(error));
  }
  return undefined;
}

/** A file that was ignored where uwf copied it from, and that the agent has added to git: people keep secrets in such files. */
function asCopied(path: string): FileHit {
  return { file: pathAsText(path), at: 'was copied as an ignored file', rule: INCLUDE_FILE };
}

function scanFor(redactor: Redactor, others: readonly ObjectId[]): NonNullable<SnapshotOptions['inspect']> {
  return async (tree, objects) => {
    const places = await new SecretScan({ objects }, redactor).scanFiles(tree, others);
    if (places.length > 0) throw new FilesHoldSecrets(places);
  };
}

/** The work tree that a folder lies in, if it is one of this repository. */
async function workTreeAt({ repository, env }: Machine, cwd: string): Promise<RepositoryLocation | undefined> {
  const own = repository.location;
  // Variables may have named that work tree: it need not contain the folder.
  if (cwd === own?.workTree) return own;
  // It may be no folder of any repository, or none any more: the agent's business.
  const found = await discoverRepository(cwd, forSearchIn(env)).catch(() => undefined);
  return found?.workTree !== undefined && found.commonDir === own?.commonDir ? found : undefined;
}

/** The work tree of a thread that a folder was in, which the agent has removed or moved. */
async function workTreeAbove(engine: Machine, cwd: string): Promise<RepositoryLocation | undefined> {
  if (existsSync(cwd)) return undefined;
  let above = dirname(cwd);
  while (!existsSync(above)) above = dirname(above);
  const found = await workTreeAt(engine, above);
  // If all of it is gone, a work tree of people can lie above it.
  return found !== undefined && isMadeForThread(found) ? found : undefined;
}

/** The files that the thread's newest step left that recorded some. */
async function recordedTree(repository: Repository, { tally }: Step['state']): Promise<ObjectId | undefined> {
  if (tally.recorded === null) return undefined;
  const step = await readThreadCommit(repository, tally.recorded);
  return step.kind === 'step' ? step.node.workspace?.tree : undefined;
}
