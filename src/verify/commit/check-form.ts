import { readCommitNodesOnce } from '../../cas/commit-nodes.ts';
import { isNodeHash, type NodeHash } from '../../cas/hash.ts';
import type { NodeSource, StoredNode } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonValue } from '../../json.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import { nodeOfMessage } from '../../thread/commit-message.ts';
import { findEventFile, type ThreadCommit } from '../../thread/thread-commit.ts';
import { checkFiles } from './check-files.ts';
import { attempt, type ReportFault } from '../fault.ts';
import type { NodeCache } from '../chain/known-nodes.ts';
import { keepersOf } from '../../cas/pins.ts';
import { readChecked } from './read-checked.ts';

/** A commit of a thread that was read whole, and its parents. */
export type Form = {
  commit: ThreadCommit;
  /** The nodes of its tree by path. */
  nodes: ReadonlyMap<string, StoredNode>;
  /** Its parents that are commits of threads. */
  threads: readonly ObjectId[];
  /** Its parents that are commits of the user's code. */
  code: readonly ObjectId[];
};

/**
 * Checks the form of one commit: every object of its tree is listed in the index, has the hash that the index says, and is at
 * the path that the commit's node implies; every parent is named by a node; the message names the commit's node.
 *
 * Does not read the commits before, so the cost does not depend on the length of the thread. The repository that fetches the
 * thread checks the order of commits and the decisions.
 * @returns `undefined` if it is no commit of a thread, which has been reported
 */
export async function checkForm(cache: NodeCache, id: ObjectId, report: ReportFault): Promise<Form | undefined> {
  const { repository } = cache;
  const checked = await readChecked(cache, id, report);
  if (checked === undefined) return undefined;
  const { commit, files, fault } = checked;
  if (fault !== undefined) report(null, fault);
  if (nodeOfMessage(commit.commit.message) !== commit.hash) report(null, 'its message does not name its node');
  const nodes = new Map<string, StoredNode>();
  const byHash = new Map<NodeHash, StoredNode>();
  const named = new Set<NodeHash>();
  for (const entry of files.index) {
    const node = await attempt(report, entry.path, () => cache.read(entry));
    if (node === undefined) continue;
    nodes.set(entry.path, node);
    byHash.set(node.hash, node);
    addHashes(node.payload, named);
  }
  const source: NodeSource = { find: (hash) => Promise.resolve(byHash.get(hash)) };
  await checkFiles(repository, commit, { node: agentsFor(commit) }, files, nodes, source, named, report);
  return { commit, nodes, ...(await sortParents(repository, commit, nodes, named, report)) };
}

/**
 * Derives what the start says about agents: a step without its own `agent.json` has the agent that the start names.
 */
function agentsFor(commit: ThreadCommit): Pick<ThreadStart, 'agents'> {
  if (commit.kind === 'start') return commit.node;
  const isWithStep = commit.kind === 'step' && !commit.index.some(({ path }) => path === 'agent.json');
  return { agents: isWithStep ? { [commit.node.role]: commit.node.agent } : {} };
}

/** Sorts the parents into commits of threads and commits of the user's code. Each has to be named by a node. */
async function sortParents(
  repository: Repository,
  commit: ThreadCommit,
  nodes: ReadonlyMap<string, StoredNode>,
  named: ReadonlySet<NodeHash>,
  report: ReportFault,
): Promise<Pick<Form, 'threads' | 'code'>> {
  const { parents } = commit.commit;
  if (new Set(parents).size < parents.length) report(null, 'it names a parent twice');
  const isStart = commit.kind === 'start';
  const isFirst = isStart && commit.node.parentThread === null;
  const before = isFirst ? undefined : parents[0];
  const further = isFirst ? parents : parents.slice(1);
  if (!isFirst && before === undefined) report(null, 'it has no parent');
  const ofCode = new Set(codeCommits(commit, nodes.values()));
  const threads = before === undefined ? [] : [before];
  const code: ObjectId[] = [];
  for (const id of further) {
    if (ofCode.has(id)) {
      code.push(id);
      continue;
    }
    const behind = await attempt(report, null, () => readCommitNodesOnce(repository, id));
    const node = findEventFile(behind?.entries ?? [])?.file;
    if (node !== undefined && named.has(node.hash) && !isStart) threads.push(id);
    else report(null, `nothing accounts for its parent ${id}`);
  }
  return { threads, code };
}

function addHashes(value: JsonValue, found: Set<NodeHash>): void {
  if (isNodeHash(value)) found.add(value);
  else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) addHashes(part, found);
}

/** The commits of the user's code that a commit keeps. */
export function codeCommits(commit: ThreadCommit, nodes: Iterable<StoredNode>): ObjectId[] {
  const named =
    commit.kind === 'step' ? commit.node.workspace?.commit : commit.kind === 'start' ? commit.node.base : undefined;
  const pinned = keepersOf(nodes).parents;
  return named === undefined ? pinned : [named, ...pinned];
}
