import type { RepositoryLocation } from '../../git/repository.ts';
import { realPath } from '../../git/repository/git-directory.ts';
import { linkedWorkTrees } from '../../git/repository/work-trees.ts';
import { ownIdentity } from '../../git/system/process-identity.ts';
import { isWithin } from '../../git/system/files.ts';
import { type AgentRecord, BLOCK_PACKAGE } from '../../schema/built-in/workflow.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Isolation } from '../../workflow/definition.ts';
import type { Machine, Telling } from '../engine-context.ts';
import { findCaller, isHeldBy, isHolderAlive, readLeases } from '../leases/find-lease.ts';
import type { Lease } from '../leases/lease.ts';

type TurnPlace = { thread: ThreadId; cwd: string; isolation: Isolation; agent: AgentRecord };

/** Agents that leave files alone: a person, and callers of threads that have leases of their own. */
const withoutFiles: ReadonlySet<string> = new Set(['builtin:human', 'builtin:workflow', BLOCK_PACKAGE]);

/**
 * Notes in a thread's lease which work tree its agents work in, and tells if agents of other runs work there too, unless that
 * is intended.
 *
 * It is told once in a run. Children and branches belong to the run of their caller, and threads that one process runs belong
 * together.
 */
export function tellNeighbours(engine: Machine & Telling, lease: Lease, turn: TurnPlace): void {
  const { repository, env, told } = engine;
  const { thread, cwd, isolation, agent } = turn;
  if (withoutFiles.has(agent.package)) return;
  const workTree = repository.location && findTop(repository.location, cwd);
  // Of two runs that begin at once, the later one to note it sees the other.
  if (workTree === undefined || !lease.noteWorkTree(workTree) || isolation !== 'none') return;
  if (told.has(workTree)) return;
  const here = readLeases(repository).filter((other) => other.workTree === workTree && other.thread !== thread);
  if (here.some((other) => isHeldBy(other, ownIdentity())) || findCaller(repository, env) !== undefined) return;
  const others = here
    .filter((other) => isHolderAlive(other, repository.now()))
    .map((other) => ({ thread: other.thread, pid: other.holder.pid, host: other.holder.host }));
  if (others.length === 0) return;
  told.add(workTree);
  engine.tell({ event: 'work-tree.shared', thread, workTree, others });
}

/** The top of the work tree of a repository that a folder lies in. */
function findTop(location: RepositoryLocation, folder: string): string | undefined {
  const path = realPath(folder);
  const main = location.workTree === undefined ? [] : [realPath(location.workTree)];
  const tops = [...main, ...linkedWorkTrees(location).map(({ top }) => top)].filter((top) => isWithin(path, top));
  // One can lie in another.
  return tops.toSorted((a, b) => b.length - a.length)[0];
}
