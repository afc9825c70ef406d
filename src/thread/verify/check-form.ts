import { readCommitNodesOnce } from '../../cas/commit-nodes.ts';
import { isNodeHash, type NodeHash } from '../../cas/hash.ts';
import type { NodeSource, StoredNode } from '../../cas/node-source.ts';
import { keepersOf } from '../../cas/pins.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonValue } from '../../json.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import { nodeOfMessage } from '../commit-message.ts';
import { kindOfFile, type ThreadCommit } from '../thread-commit.ts';
import { checkFiles } from './check-files.ts';
import { attempt, type Report } from './finding.ts';
import type { NodeCache } from './known-nodes.ts';
import { readChecked } from './read-checked.ts';
import type { CommitFiles } from './read-files.ts';

/** A commit of a thread that was read whole, and what it stands on. */
export type Form = {
  commit: ThreadCommit;
  files: CommitFiles;
  /** The nodes of its tree by path. */
  nodes: ReadonlyMap<string, StoredNode>;
  /** Its parents that have to be commits of threads. */
  threads: readonly ObjectId[];
  /** Its parents that are commits of somebody's code, which its node names. */
  code: readonly ObjectId[];
};

/**
 * Checks that all of one commit is a thread's: every object of its tree is listed, is the node that it is said to be and
 * lies where the commit's node says; every parent is one that a node names; the message is about the node.
 *
 * It looks at nothing before the commit, so that it costs the same wherever in a thread that is. What the commit says of
 * those before it, and what was decided, is for the verification by whoever takes the thread in.
 * @returns `undefined` if it is no commit of a thread, which has been reported
 */
export async function checkForm(
  repository: Repository,
  cache: NodeCache,
  id: ObjectId,
  report: Report,
): Promise<Form | undefined> {
  const checked = await readChecked(repository, cache, id, report);
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
  return { commit, files, nodes, ...(await sortParents(repository, commit, nodes, named, report)) };
}

/**
 * The start as far as the files of a commit depend on it: a step's agent lies with the start where it is the one that the
 * start names, and else with the step.
 */
function agentsFor(commit: ThreadCommit): Pick<ThreadStart, 'agents'> {
  if (commit.kind === 'start') return commit.node;
  const isWithStep = commit.kind === 'step' && !commit.index.some(({ path }) => path === 'agent.json');
  return { agents: isWithStep ? { [commit.node.role]: commit.node.agent } : {} };
}

/** Tells the parents that are commits of threads from those of somebody's code; each has to be one that a node names. */
async function sortParents(
  repository: Repository,
  commit: ThreadCommit,
  nodes: ReadonlyMap<string, StoredNode>,
  named: ReadonlySet<NodeHash>,
  report: Report,
): Promise<Pick<Form, 'threads' | 'code'>> {
  const { parents } = commit.commit;
  if (new Set(parents).size < parents.length) report(null, 'it names a parent twice');
  const isStart = commit.kind === 'start';
  const [before, ...further] = parents;
  const hasCaller = isStart && commit.node.parentThread !== null;
  if (!isStart || hasCaller ? before === undefined : before !== undefined) {
    report(null, before === undefined ? 'it has no parent' : `nothing accounts for its parent ${before}`);
  }
  const checkedOut = commit.kind === 'step' ? commit.node.workspace?.commit : undefined;
  const ofCode = new Set([...keepersOf(nodes.values()).parents, ...(checkedOut === undefined ? [] : [checkedOut])]);
  const threads = before === undefined ? [] : [before];
  const code: ObjectId[] = [];
  for (const id of further) {
    if (ofCode.has(id)) {
      code.push(id);
      continue;
    }
    const behind = await attempt(report, null, () => readCommitNodesOnce(repository, id));
    const node = behind?.entries?.find(({ path }) => kindOfFile(path) !== undefined);
    if (node !== undefined && named.has(node.hash) && !isStart) threads.push(id);
    else report(null, `nothing accounts for its parent ${id}`);
  }
  return { threads, code };
}

function addHashes(value: JsonValue, found: Set<NodeHash>): void {
  if (isNodeHash(value)) found.add(value);
  else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) addHashes(part, found);
}
