import { findNodeAt } from '../thread-commit.ts';
import { readChain } from '../chain.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import type { ThreadId } from '../thread-id.ts';
import type { ThreadState } from '../thread-state.ts';
import { growWholeState } from './grow-state.ts';
import { ObjectMissing } from '../../git/object-errors.ts';
import { NotHereYet } from './not-here-yet.ts';
import { KnownNodes, type NodeCache } from './known-nodes.ts';

/** What the check of a commit needs of those before it. */
export type Verified = { state: ThreadState; known: KnownNodes };

/**
 * Reads what the check of the next commit needs, off a thread that was verified up to a commit: its steps, and where its
 * nodes lie. Nothing is checked again beyond what every reader checks.
 * @throws {CorruptThread} if the commit is no part of a thread
 */
export async function resumeVerification(
  repository: Repository,
  cache: NodeCache,
  id: ThreadId,
  head: ObjectId,
): Promise<Verified | undefined> {
  const commits: ThreadCommit[] = [];
  for await (const commit of readChain(repository, head)) commits.push(commit);
  const known = new KnownNodes(repository, cache);
  const grown: Parameters<typeof growWholeState>[1][number][] = [];
  for (const commit of commits.toReversed()) {
    for (const entry of commit.index) known.recall(entry);
    for (const parent of furtherParents(commit)) known.addBehind(parent);
    grown.push({ commit: slim(commit), nodes: await textsOf(repository, commit) });
  }
  const state = growWholeState(id, grown);
  return state && { state, known };
}

/** The parents that are not the commit before in the same thread. */
export function furtherParents({ kind, commit: { parents } }: ThreadCommit): readonly ObjectId[] {
  return kind === 'start' ? parents : parents.slice(1);
}

/** A commit as deciding needs it: of what a step recorded, a trace above all, nothing is looked at again. */
export function slim<Event extends ThreadCommit>(commit: Event): Event {
  if (commit.kind === 'start') return commit;
  return { ...commit, index: commit.index.filter(({ path }) => !path.includes('/')) };
}

async function textsOf(repository: Repository, commit: ThreadCommit): Promise<Map<string, StoredNode>> {
  const path = commit.kind === 'start' ? 'prompt.md' : commit.kind === 'step' ? 'output.md' : undefined;
  const node = path && (await unlessAbsent(() => findNodeAt(repository, commit, path)));
  return new Map(node ? [[path, node]] : []);
}

/** Contents of what was verified before may not have been fetched yet; rules see no text then. */
async function unlessAbsent<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof NotHereYet || error instanceof ObjectMissing) return undefined;
    throw error;
  }
}
