import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { storing } from '../../git/format/errors.ts';
import type { Repository } from '../../git/repository.ts';
import { isFarFromNow, makeFolders, namesIn, share } from '../../git/system/files.ts';
import {
  formatIdentity,
  isAlive,
  ownIdentity,
  parseIdentity,
  type ProcessIdentity,
} from '../../git/system/process-identity.ts';
import { tryTo } from '../../or-else.ts';
import type { Limits } from '../../schema/built-in/schema-parts.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Machine, Reading } from '../engine-context.ts';
import { DepthExceeded } from '../engine-errors.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import { readRunTree, RUN_TREE, type RunTree } from './run-tree.ts';

const DEFAULT_MAX_NESTED_RUNS = 100;

/** How long the folder of a process counts that cannot be seen from here. */
const UNSEEN_MS = 86_400_000;

/** In uwf's own folder: a folder for each root, with a file for each thread that is counted below it. */
const FOLDER = 'trees';

/** The place of the turn above the threads that an engine runs; `undefined` if they are roots. */
function runTreeAbove(engine: Machine): RunTree | undefined {
  return engine.caller ?? readRunTree(engine.env);
}

export function runTreeOf(engine: Machine, thread: { id: ThreadId; depth: number }, limits: Limits): RunTree {
  const above = runTreeAbove(engine);
  const { maxDepth = DEFAULT_LIMITS.maxDepth } = limits;
  return {
    // A thread that was started at the root can be run again by an agent.
    depth: Math.max(thread.depth, above === undefined ? 0 : above.depth + 1),
    maxDepth: Math.min(maxDepth, above?.maxDepth ?? maxDepth),
    root: above?.root ?? thread.id,
    process: above?.process ?? ownIdentity(),
  };
}

/**
 * Takes a thread into the tree of runs above it, before it is stored or runs. Children are part of their caller's run; what
 * the commands of agents start is counted, each thread once.
 * @param what it is called in errors
 * @returns the turn above it, if there is one
 * @throws {DepthExceeded} if it would lie too deep
 * @throws {UwfError} `too-many-runs` if the root has enough runs below it; `root-ended` if it runs no more
 */
export function enterRunTree(engine: Machine, id: ThreadId, what: string): RunTree | undefined {
  const above = runTreeAbove(engine);
  if (above === undefined) return undefined;
  const { maxDepth = above.maxDepth, maxNestedRuns = DEFAULT_MAX_NESTED_RUNS } = engine.config.limits ?? {};
  const deepest = Math.min(above.maxDepth, maxDepth);
  if (above.depth >= deepest) throw new DepthExceeded(what, deepest);
  if (engine.caller !== undefined) return above;
  const { root, process } = above;
  if (isAlive(process) === false) {
    throw new UwfError(`${what} is not run: the run of thread ${root}, whose agent asks for it, has ended`, {
      code: 'root-ended',
      kind: 'environment',
      hint: `unset ${RUN_TREE} to run it by itself`,
    });
  }
  if (isCounted(engine.repository, above, id, maxNestedRuns)) return above;
  throw new UwfError(`${what} is not run: agents have started ${maxNestedRuns} runs below thread ${root} already`, {
    code: 'too-many-runs',
    kind: 'data',
    hint: 'a workflow whose agents start uwf needs an end; limits.maxNestedRuns can be raised',
  });
}

/**
 * Counts a thread below its root: each has an empty file in a folder of the root's, so that the count holds over processes.
 * @returns false if it would be one too many
 */
function isCounted({ stateDir }: Repository, { root, process }: RunTree, id: ThreadId, limit: number): boolean {
  // Without a disk no other process works on the repository.
  if (stateDir === undefined) return true;
  const folder = folderOf(stateDir, root, process);
  const path = join(folder, id);
  if (existsSync(path)) return true;
  storing(folder, () => {
    if (makeFolders(folder) !== undefined) removeRunTrees(stateDir);
    writeFileSync(path, '');
    share(path);
  });
  if (namesIn(folder).length <= limit) return true;
  rmSync(path, { force: true });
  return false;
}

/** Forgets what was counted below a root, when this process has run it. */
export function leaveRunTree({ repository: { stateDir } }: Reading, root: ThreadId): void {
  if (stateDir === undefined) return;
  // What stays is removed with the next root.
  tryTo(() => rmSync(folderOf(stateDir, root, ownIdentity()), { recursive: true, force: true }));
}

/** Removes what was counted below roots whose processes have ended, and returns the folders. */
export function removeRunTrees(stateDir: string): { path: string; bytes: number }[] {
  const folders = namesIn(join(stateDir, FOLDER)).map((name) => ({
    path: join(stateDir, FOLDER, name),
    process: parseIdentity(name.slice(name.indexOf('@') + 1)),
  }));
  const left = folders.filter(({ path, process }) => {
    const alive = process && isAlive(process);
    return alive === 'other-host' ? isFarFromNow(path, UNSEEN_MS) : alive === false;
  });
  for (const { path } of left) tryTo(() => rmSync(path, { recursive: true, force: true }));
  return left.map(({ path }) => ({ path, bytes: 0 }));
}

function folderOf(stateDir: string, root: ThreadId, process: ProcessIdentity): string {
  return join(stateDir, FOLDER, `${root}@${formatIdentity(process)}`);
}
