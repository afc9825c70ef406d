import { readCommitNodes, readNodeAt } from '../../cas/commit-nodes.ts';
import type { NodeHash } from '../../cas/hash.ts';
import type { Signature } from '../../git/format/commit.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonValue } from '../../json.ts';
import type { ThreadId } from '../thread-id.ts';
import { threadRows } from './rows.ts';

/** A line that carries a node. */
export type ExportedNode = { node: NodeHash; type: NodeHash; payload: JsonValue };

/** A line with a commit: the paths of its nodes, and all other content of the commit. */
export type ExportedCommit = {
  commit: ObjectId;
  parents: ObjectId[];
  author: Signature;
  committer: Signature;
  message: string;
  files: Record<string, NodeHash>;
};

/**
 * Writes a thread as JSON lines, without their line ends: its rows, and with `withNodes` all nodes and commits that an import
 * needs, also those of threads that it called, was forked from or links to. Each comes once, and after those that it refers
 * to. The last line is the thread's head.
 *
 * The same thread gives the same lines. Commits and files of the user's code are named and not written.
 * @throws {CorruptThread} if the thread cannot be read
 */
export async function* exportThread(
  repository: Repository,
  { id, head }: { id: ThreadId; head: ObjectId },
  options: { withNodes?: boolean } = {},
): AsyncGenerator<string, void, void> {
  for await (const row of threadRows(repository, id, head)) yield JSON.stringify(row);
  if (options.withNodes !== true) return;
  const written = new Set<NodeHash>();
  for await (const commit of commitsBehind(repository, head)) {
    const { entries = [] } = await readCommitNodes(repository, commit);
    for (const entry of entries) {
      if (written.has(entry.hash)) continue;
      written.add(entry.hash);
      const { type, payload } = await readNodeAt(repository, entry);
      const line: ExportedNode = { node: entry.hash, type, payload };
      yield JSON.stringify(line);
    }
    yield JSON.stringify(await commitLine(repository, commit, entries));
  }
}

async function commitLine(
  repository: Repository,
  id: ObjectId,
  entries: readonly { path: string; hash: NodeHash }[],
): Promise<ExportedCommit> {
  const { parents, author, committer, message } = await readCommit(repository.objects, id);
  const files = Object.fromEntries(entries.map(({ path, hash }) => [path, hash]));
  return { commit: id, parents, author, committer, message, files };
}

/** The commits of threads that a head reaches, each once, parents before children, the head last. */
async function* commitsBehind(repository: Repository, head: ObjectId): AsyncGenerator<ObjectId, void, void> {
  const done = new Set<ObjectId>();
  const pending = [head];
  for (let id = pending.at(-1); id !== undefined; id = pending.at(-1)) {
    const { parents, entries } = done.has(id) ? { parents: [], entries: [] } : await readCommitNodes(repository, id);
    const open = entries === undefined ? [] : parents.filter((parent) => !done.has(parent));
    if (open.length > 0) {
      pending.push(...open.toReversed());
      continue;
    }
    pending.pop();
    if (done.has(id)) continue;
    done.add(id);
    if (entries !== undefined) yield id;
  }
}
